"""cffi_test.py LIBRARY HEADER: the library as Python's cffi uses it, with no declaration but the header's own.

Run by with_daemon.
"""
import sys

from cffi import FFI

LIBRARY, HEADER = sys.argv[1:]
BEGIN = "/* ---- cut here: plain declarations ---- */"
END = "/* ---- cut here: end of plain declarations ---- */"

with open(HEADER, encoding="utf-8") as file:
    text = file.read()
ffi = FFI()
ffi.cdef(text[text.index(BEGIN) + len(BEGIN) : text.index(END)])
lib = ffi.dlopen(LIBRARY)


def check(condition, what):
    if not condition:
        sys.exit("failed: " + what)


def open_filter(name, flags=0):
    error_text = ffi.new("char[512]")
    options = ffi.new("shmbloom_options *", {"struct_size": ffi.sizeof("shmbloom_options"), "flags": flags})
    options.error_text = error_text
    options.error_text_size = len(error_text)
    ret = ffi.new("shmbloom_filter **")
    r = lib.shmbloom_open(ret, name, options)
    if r < 0:
        return r, ffi.string(error_text).decode()
    return ffi.gc(ret[0], lib.shmbloom_close), ""


def packed(keys):
    offsets = [0]
    for key in keys:
        offsets.append(offsets[-1] + len(key))
    return b"".join(keys), ffi.new("uint64_t[]", offsets), len(keys), ffi.new("uint8_t[]", len(keys))


def answers_of(call, *arguments):
    r = call(*arguments)
    check(r == 0, f"a batch returned {r}")
    return list(arguments[-1])


check((lib.SHMBLOOM_ABSENT, lib.SHMBLOOM_MAYBE, lib.SHMBLOOM_UNVERIFIED) == (0, 1, 2), "constants of answers")
check(lib.SHMBLOOM_NOT_ADDED == 255, "SHMBLOOM_NOT_ADDED")
check(ffi.string(lib.shmbloom_version()).count(b".") == 2, "version")

r, error = open_filter(b"no-such-filter")
check(isinstance(r, int) and r < 0 and "no-such-filter" in error, "text of a failing open: " + error)

# Singles.
links, _ = open_filter(b"links")
check(lib.shmbloom_contains(links, b"abc", 3) == lib.SHMBLOOM_ABSENT, "absent before it is added")
check(lib.shmbloom_add(links, b"abc", 3) == lib.SHMBLOOM_ABSENT, "new")
check(lib.shmbloom_add(links, b"abc", 3) == lib.SHMBLOOM_MAYBE, "not new any more")
check(lib.shmbloom_contains(links, b"abc", 3) == lib.SHMBLOOM_MAYBE, "there once it is added")
check(lib.shmbloom_contains(links, ffi.NULL, 0) == lib.SHMBLOOM_ABSENT, "the empty key")

# Batches.
keys = [b"key-%d" % i for i in range(1000)] + [b"", b"\x00\xff"]
others = [b"other-%d" % i for i in range(1000)]
added = answers_of(lib.shmbloom_add_packed, links, *packed(keys))
check(set(added) <= {0, 1} and added.count(0) >= 990, "adds of a packed batch")
check(answers_of(lib.shmbloom_contains_packed, links, *packed(keys)) == [1] * len(keys), "a packed batch is there")
check(answers_of(lib.shmbloom_contains_packed, links, *packed(others)).count(0) >= 980, "another is not")

buffers = [ffi.from_buffer(key) for key in keys]
many = ffi.new("shmbloom_key[]", [(buffer, len(key)) for buffer, key in zip(buffers, keys)])
answers = ffi.new("uint8_t[]", len(keys))
check(answers_of(lib.shmbloom_contains_many, links, many, len(keys), answers) == [1] * len(keys), "shmbloom_key[]")

# Numbers, hashes, errors.
numbers, _ = open_filter(b"numbers")
u64s = ffi.new("uint64_t[]", [i << 50 for i in range(1000)])
answers = ffi.new("uint8_t[]", 1000)
check(set(answers_of(lib.shmbloom_add_many_u64, numbers, u64s, 1000, answers)) <= {0, 1}, "adds of numbers")
check(answers_of(lib.shmbloom_contains_many_u64, numbers, u64s, 1000, answers) == [1] * 1000, "numbers are there")
check(lib.shmbloom_contains_u64(numbers, 2**64 - 1) == 0, "a number that is not")
bytes_, offsets, n, answers = packed(keys)
check(lib.shmbloom_contains_packed(numbers, bytes_, offsets, n, answers) < 0, "bytes for numbers")
check(list(answers) == [2] * n, "answers of the other key type")
check(lib.shmbloom_add_packed(numbers, bytes_, offsets, n, answers) < 0, "adding bytes to numbers")
check(list(answers) == [255] * n, "nothing acknowledged")
key_hash, domain, answer = ffi.new("uint64_t *"), ffi.new("uint64_t *"), ffi.new("uint8_t[1]")
check(lib.shmbloom_hash(links, b"abc", 3, key_hash, domain) == 0, "hash")
check(answers_of(lib.shmbloom_contains_hashes, links, domain[0], key_hash, 1, answer) == [1], "a hash is there")

# Reports. Nobody added this key, so the filter was right; a report says otherwise, and the daemon believes it.
check(lib.shmbloom_report_found(links, b"reported", 8) == lib.SHMBLOOM_ABSENT, "report_found")
check(lib.shmbloom_contains(links, b"reported", 8) == lib.SHMBLOOM_MAYBE, "a reported key is added")
check(lib.shmbloom_report_found(links, b"reported", 8) == lib.SHMBLOOM_MAYBE, "reported once")
check(lib.shmbloom_report_missing(links, b"reported", 8) == lib.SHMBLOOM_MAYBE, "report_missing")
check(lib.shmbloom_report_found_u64(numbers, 123) == lib.SHMBLOOM_ABSENT, "report_found_u64")
info = ffi.new("shmbloom_info *", {"struct_size": ffi.sizeof("shmbloom_info")})
check(lib.shmbloom_get_info(links, info) == 0, "get_info")
check((info.wrong_absent, info.wrong_absents_of_all, info.false_positives) == (1, 1, 1), "counts of reports")

# Shadow mode and info.
shadow, _ = open_filter(b"links", lib.SHMBLOOM_OPEN_SHADOW | lib.SHMBLOOM_OPEN_LAZY)
check(lib.shmbloom_contains(shadow, b"not there", 9) == lib.SHMBLOOM_UNVERIFIED, "shadow mode")
info = ffi.new("shmbloom_info *", {"struct_size": ffi.sizeof("shmbloom_info")})
check(lib.shmbloom_get_info(shadow, info) == 0, "get_info")
check(info.would_be_absent == 1 and info.live == 1, "counts")
check(ffi.string(info.name) == b"links" and info.capacity == 100000, "info")
print("cffi: ok")
