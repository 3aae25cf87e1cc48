"""A daemon of its own and the programs that load it: what the benchmarks in Python have in common."""
import argparse
import math
import os
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

# What was made is removed, as after any failure.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def number(least, of=int):
    """The type of an option's value: a number of at least `least`."""
    def parse(text):
        value = float(text)
        if not math.isfinite(value) or value < least:
            raise argparse.ArgumentTypeError(f"{text} is not a number of at least {least}")
        return of(value)
    parse.__name__ = "number"
    return parse


def rate(text):
    """The type of a rate of false maybes."""
    value = float(text)
    if not 1e-6 <= value <= 0.5:
        raise argparse.ArgumentTypeError(f"{text} is not between 1e-6 and 0.5")
    return value


def folder(text):
    """The type of a folder that is there."""
    if not os.path.isdir(text):
        raise argparse.ArgumentTypeError(f"{text} is no folder")
    return text


def new_file(text):
    """The type of a file to be written at the end."""
    try:
        open(text, "a").close()
    except OSError as error:
        raise argparse.ArgumentTypeError(f"cannot write {text}: {error.strerror}")
    return text


def build_folder(text):
    """The type of the build folder."""
    if not os.access(f"{text}/daemon/shmbloomd", os.X_OK):
        raise argparse.ArgumentTypeError(f"there is no daemon/shmbloomd in {text}; see README.md for what to build")
    return text


def parts(text, known):
    """The --parts asked for, of those known."""
    asked = text.split(",")
    for part in asked:
        if part not in known:
            sys.exit(f"--parts: '{part}' is none of {', '.join(known)}")
    return asked


class Daemon:
    def __init__(self, place, name):
        self.place, self.build = place, place.build
        self.state, self.runtime = f"{place.work}/{name}", f"{place.memory}/{name}"
        self.log = f"{place.work}/{name}.log"

    def start(self):
        """Seconds until it is ready, and what the log says."""
        out = open(self.log, "w+")
        began = time.monotonic()
        self.process = self.place.run([f"{self.build}/daemon/shmbloomd", "--state-dir", self.state,
                                       "--runtime-dir", self.runtime], stderr=out)
        while " ready: " not in open(self.log).read():
            assert self.process.poll() is None, open(self.log).read()
            time.sleep(0.001)
        return time.monotonic() - began

    def end(self, sig):
        self.process.send_signal(sig)
        self.process.wait()

    def segments(self):
        if not os.path.exists(f"{self.state}/registry.json"):
            return []
        uuid = re.search(r'"state_uuid": "([0-9a-f-]{19})', open(f"{self.state}/registry.json").read()).group(1)
        prefix = "shmbloom." + uuid.replace("-", "")
        return [f"/dev/shm/{name}" for name in os.listdir("/dev/shm") if name.startswith(prefix)]

    def remove_segments(self):
        for path in self.segments():
            os.remove(path)

    def call(self, *words):
        s = socket.socket(socket.AF_UNIX)
        s.connect(f"{self.runtime}/socket")
        words = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        reply = s.recv(1 << 20)
        assert not reply.startswith(b"-"), reply
        return reply.decode()

    def call_for_numbers(self, *words):
        """Of a command that replies an array of integers."""
        s = socket.socket(socket.AF_UNIX)
        s.connect(f"{self.runtime}/socket")
        words = [w if isinstance(w, bytes) else w.encode() for w in words]
        s.sendall(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words))
        lines = s.makefile("rb")
        return [int(lines.readline()[1:]) for _ in range(int(lines.readline()[1:]))]

    def field(self, name, field):
        words = self.call("SB.INFO", name).split("\r\n")
        return words[words.index(field) + 2]

    def add_random(self, name, batches, size=65536):
        """Batches of random hashes."""
        domain = self.field(name, "hash_domain").encode()
        s = socket.socket(socket.AF_UNIX)
        s.connect(f"{self.runtime}/socket")
        for _ in range(batches):
            hashes = os.urandom(8 * size)
            s.sendall(b"*4\r\n$7\r\nSB.ADDH\r\n$%d\r\n%s\r\n$16\r\n%s\r\n$%d\r\n" %
                      (len(name), name.encode(), domain, len(hashes)) + hashes + b"\r\n")
            left = size + len(b"$%d\r\n\r\n" % size)
            while left > 0:
                left -= len(s.recv(left))

    def latencies(self, seconds, *names):
        """Of lookups in these filters in turn, for each."""
        lines = subprocess.check_output([f"{self.build}/bench/lookup_latency", self.runtime, str(seconds), *names],
                                        text=True).splitlines()
        return [dict(zip(line.split()[::2], map(float, line.split()[1::2]))) for line in lines]

    def latency(self, name, seconds):
        return self.latencies(seconds, name)[0]


def median(values):
    return statistics.median(values)


def spread(values, digits=2):
    return f"{median(values):.{digits}f} ({min(values):.{digits}f} to {max(values):.{digits}f})"


class Place:
    """The build, a folder on the disk that is measured, and one in memory; and all that was started there."""

    def __init__(self, build, disk=None):
        self.build, self.processes, self.daemons = build, [], []
        self.work = tempfile.mkdtemp(prefix="shmbloom-bench-", dir=disk)
        self.memory = tempfile.mkdtemp(prefix="shmbloom-bench-", dir="/dev/shm")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:
                process.kill()
                process.wait()
        for daemon in self.daemons:
            daemon.remove_segments()
        shutil.rmtree(self.memory)
        shutil.rmtree(self.work)

    def run(self, words, **options):
        """Starts a process that ends with this place. A signal waits until it is known here."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
        try:
            process = subprocess.Popen(words, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_SETMASK, before),
                                       **options)
            self.processes.append(process)
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        return process

    def daemon(self, name):
        self.daemons.append(Daemon(self, name))
        return self.daemons[-1]

    def redis(self, name, *words):
        """A redis-server and its socket."""
        folder, sock = f"{self.work}/{name}", f"{self.memory}/{name}.sock"
        os.mkdir(folder)
        process = self.run(["redis-server", "--port", "0", "--unixsocket", sock, "--dir", folder, "--save", "", *words],
                           stdout=subprocess.DEVNULL)
        while not os.path.exists(sock):
            if process.poll() is not None:
                sys.exit(f"redis-server {' '.join(words)} did not start")
            time.sleep(0.01)
        return process, sock

    def add_load(self, *words):
        """What the client says: keys_per_s, and p50, p99, max in ms. The same client for ours and theirs."""
        text = subprocess.check_output([f"{self.build}/bench/add_load", *map(str, words)], text=True).split()
        return dict(zip(text[::2], map(float, text[1::2])))
