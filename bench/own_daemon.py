"""A daemon of its own and the programs that load it: what the benchmarks in Python have in common."""
import argparse
import os
import re
import signal
import socket
import statistics
import subprocess
import sys
import time

# What was made is removed, as after any failure.
signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))


def number(least, of=int):
    """The type of an option's value: a number of at least `least`."""
    def parse(text):
        value = of(float(text))
        if value < least:
            raise argparse.ArgumentTypeError(f"{text} is below {least}")
        return value
    parse.__name__ = "number"
    return parse


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
        self.build = place.build
        self.state, self.runtime = f"{place.work}/{name}", f"{place.memory}/{name}"
        self.log = f"{place.work}/{name}.log"

    def start(self):
        """Seconds until it is ready, and what the log says."""
        out = open(self.log, "w+")
        began = time.monotonic()
        self.process = subprocess.Popen([f"{self.build}/daemon/shmbloomd", "--state-dir", self.state,
                                         "--runtime-dir", self.runtime], stderr=out)
        while " ready: " not in open(self.log).read():
            assert self.process.poll() is None, open(self.log).read()
            time.sleep(0.001)
        return time.monotonic() - began

    def end(self, sig):
        self.process.send_signal(sig)
        self.process.wait()

    def segments(self):
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

    def add_random(self, name, batches):
        """Batches of 65,536 random hashes."""
        domain = self.field(name, "hash_domain").encode()
        s = socket.socket(socket.AF_UNIX)
        s.connect(f"{self.runtime}/socket")
        for _ in range(batches):
            hashes = os.urandom(8 * 65536)
            s.sendall(b"*4\r\n$7\r\nSB.ADDH\r\n$%d\r\n%s\r\n$16\r\n%s\r\n$%d\r\n" %
                      (len(name), name.encode(), domain, len(hashes)) + hashes + b"\r\n")
            left = 65536 + 10
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
    """The build, a folder on the disk that is measured, and one in memory."""

    def __init__(self, build, work, memory):
        self.build, self.work, self.memory = build, work, memory

    def daemon(self, name):
        return Daemon(self, name)

    def redis(self, name, *words):
        """A redis-server and its socket."""
        folder, sock = f"{self.work}/{name}", f"{self.memory}/{name}.sock"
        os.mkdir(folder)
        process = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", sock, "--dir", folder, "--save", "",
                                    *words], stdout=subprocess.DEVNULL)
        while not os.path.exists(sock):
            assert process.poll() is None, "redis-server did not start"
            time.sleep(0.01)
        return process, sock

    def add_load(self, *words):
        """What the client says: keys_per_s, and p50, p99, max in ms. The same client for ours and theirs."""
        text = subprocess.check_output([f"{self.build}/bench/add_load", *map(str, words)], text=True).split()
        return dict(zip(text[::2], map(float, text[1::2])))
