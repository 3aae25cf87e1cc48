-- luajit_test.lua LIBRARY HEADER: the library as LuaJIT uses it, with no declaration but the header's own.
-- Run by with_daemon.
local ffi = require("ffi")
local library, header = arg[1], arg[2]

local file = assert(io.open(header))
local text = file:read("*a")
file:close()
local begin_line = "/* ---- cut here: plain declarations ---- */"
local end_line = "/* ---- cut here: end of plain declarations ---- */"
local _, from = assert(text:find(begin_line, 1, true))
local to = assert(text:find(end_line, 1, true))
ffi.cdef(text:sub(from + 1, to - 1))
local lib = ffi.load(library)

local function check(condition, what)
    if not condition then
        io.stderr:write("failed: " .. what .. "\n")
        os.exit(1)
    end
end

local function open(name, flags)
    local error_text = ffi.new("char[512]")
    local options = ffi.new("shmbloom_options")
    options.struct_size = ffi.sizeof("shmbloom_options")
    options.flags = flags or 0
    options.error_text = error_text
    options.error_text_size = 512
    local ret = ffi.new("shmbloom_filter *[1]")
    local r = lib.shmbloom_open(ret, name, options)
    if r < 0 then
        return nil, r, ffi.string(error_text)
    end
    return ffi.gc(ret[0], lib.shmbloom_close)
end

-- Bytes and offsets of a table of strings, and room for the answers.
local function pack(keys)
    local offsets = ffi.new("uint64_t[?]", #keys + 1)
    for i, key in ipairs(keys) do
        offsets[i] = offsets[i - 1] + #key
    end
    return table.concat(keys), offsets, #keys, ffi.new("uint8_t[?]", #keys)
end

local function count(answers, n, value)
    local found = 0
    for i = 0, n - 1 do
        if answers[i] == value then
            found = found + 1
        end
    end
    return found
end

check(lib.SHMBLOOM_ABSENT == 0 and lib.SHMBLOOM_MAYBE == 1 and lib.SHMBLOOM_UNVERIFIED == 2, "constants of answers")
check(lib.SHMBLOOM_NOT_ADDED == 255, "SHMBLOOM_NOT_ADDED")
check(ffi.string(lib.shmbloom_version()):match("^%d+%.%d+%.%d+$"), "version")

local none, r, error_text = open("no-such-filter")
check(none == nil and r < 0 and error_text:find("no-such-filter", 1, true), "text of a failing open")

-- Singles. 0 is true in Lua: compare.
local links = open("links")
check(lib.shmbloom_contains(links, "abc", 3) == lib.SHMBLOOM_ABSENT, "absent before it is added")
check(lib.shmbloom_add(links, "abc", 3) == lib.SHMBLOOM_ABSENT, "new")
check(lib.shmbloom_add(links, "abc", 3) == lib.SHMBLOOM_MAYBE, "not new any more")
check(lib.shmbloom_contains(links, "abc", 3) == lib.SHMBLOOM_MAYBE, "there once it is added")
check(lib.shmbloom_contains(links, nil, 0) == lib.SHMBLOOM_ABSENT, "the empty key")

-- Batches.
local keys, others = { "", "\0\255" }, {}
for i = 1, 1000 do
    keys[#keys + 1] = "key-" .. i
    others[i] = "other-" .. i
end
local bytes, offsets, n, answers = pack(keys)
check(lib.shmbloom_add_packed(links, bytes, offsets, n, answers) == 0, "adding a packed batch")
check(count(answers, n, 0) >= 990 and count(answers, n, 0) + count(answers, n, 1) == n, "adds of a packed batch")
check(lib.shmbloom_contains_packed(links, bytes, offsets, n, answers) == 0, "a packed batch")
check(count(answers, n, 1) == n, "a packed batch is there")
local other_bytes, other_offsets, other_n, other_answers = pack(others)
check(lib.shmbloom_contains_packed(links, other_bytes, other_offsets, other_n, other_answers) == 0, "another batch")
check(count(other_answers, other_n, 0) >= 980, "another is not")
local many = ffi.new("shmbloom_key[?]", #keys)
for i, key in ipairs(keys) do
    many[i - 1].data, many[i - 1].size = ffi.cast("const char *", key), #key
end
check(lib.shmbloom_contains_many(links, many, n, answers) == 0 and count(answers, n, 1) == n, "shmbloom_key[]")

-- Numbers, hashes, errors.
local numbers = open("numbers")
local u64s = ffi.new("uint64_t[1000]")
for i = 0, 999 do
    u64s[i] = 0x1000000000000ULL * i
end
local u64_answers = ffi.new("uint8_t[1000]")
check(lib.shmbloom_add_many_u64(numbers, u64s, 1000, u64_answers) == 0, "adding numbers")
check(lib.shmbloom_contains_many_u64(numbers, u64s, 1000, u64_answers) == 0, "looking numbers up")
check(count(u64_answers, 1000, 1) == 1000, "numbers are there")
check(lib.shmbloom_contains_u64(numbers, 0xFFFFFFFFFFFFFFFFULL) == 0, "a number that is not")
check(lib.shmbloom_contains_packed(numbers, bytes, offsets, n, answers) < 0, "bytes for numbers")
check(count(answers, n, 2) == n, "answers of the other key type")
check(lib.shmbloom_add_packed(numbers, bytes, offsets, n, answers) < 0, "adding bytes to numbers")
check(count(answers, n, 255) == n, "nothing acknowledged")
local hash, domain, answer = ffi.new("uint64_t[1]"), ffi.new("uint64_t[1]"), ffi.new("uint8_t[1]")
check(lib.shmbloom_hash(links, "abc", 3, hash, domain) == 0, "hash")
check(lib.shmbloom_contains_hashes(links, domain[0], hash, 1, answer) == 0 and answer[0] == 1, "a hash is there")

-- Shadow mode and info.
local shadow = open("links", lib.SHMBLOOM_OPEN_SHADOW + lib.SHMBLOOM_OPEN_LAZY)
check(lib.shmbloom_contains(shadow, "not there", 9) == lib.SHMBLOOM_UNVERIFIED, "shadow mode")
local info = ffi.new("shmbloom_info")
info.struct_size = ffi.sizeof("shmbloom_info")
check(lib.shmbloom_get_info(shadow, info) == 0, "get_info")
check(info.would_be_absent == 1 and info.live == 1, "counts")
check(ffi.string(info.name) == "links" and info.capacity == 100000, "info")
print("luajit: ok")
