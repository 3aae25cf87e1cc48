/* Words for people: doubts, layouts, faults, errors; and uuids as text. */
#include <errno.h>
#include <grp.h>
#include <stdio.h>
#include <string.h>

#include "handle.h"
#include "shmbloom/version.h"

const char *shmbloom_version(void) {
    return SHMBLOOM_VERSION;
}

const char *shmbloom_strerror(int r) {
    switch (r) {
    case SHMBLOOM_ABSENT:
        return "absent, or done";
    case SHMBLOOM_MAYBE:
        return "maybe present";
    case SHMBLOOM_UNVERIFIED:
        return "unverified";
    case -EINVAL:
        return "not a valid name, option or argument";
    case -ENXIO:
        return "no daemon of this boot has been here";
    case -ENOENT:
        return "no filter of this name";
    case -EEXIST:
        return "a filter of this name exists";
    case -EACCES:
        return "no permission: not in the daemon's group";
    case -EPERM:
        return "not allowed, or not to be trusted";
    case -EPROTONOSUPPORT:
        return "written by a newer daemon";
    case -EBADMSG:
        return "shared memory is not what it should be";
    case -ENOMEM:
        return "not enough memory";
    case -EMFILE:
    case -ENFILE:
        return "too many open files";
    case -E2BIG:
        return "key above 1 MiB, or too many keys";
    case -EPROTOTYPE:
        return "key of the other key type";
    case -ETIMEDOUT:
        return "no reply in time: unknown whether added";
    case -EINPROGRESS:
        return "sent, not waited for: unknown whether added";
    case -ECONNREFUSED:
        return "the daemon is not running";
    case -ECONNRESET:
        return "the daemon closed the connection";
    case -ENOSPC:
        return "no space left";
    case -EDQUOT:
        return "the filter is full";
    case -EIO:
        return "the disk fails";
    case -EBUSY:
        return "refused for now: try again";
    case -ERANGE:
        return "out of range";
    case -ESTALE:
        return "hashed for another hash domain";
    case -ENOLINK:
        return "its memory has lost its name";
    case -ENAMETOOLONG:
        return "the path of the socket is too long";
    case -EPROTO:
        return "a reply that is not understood";
    default:
        return "unknown error";
    }
}

static void append(char *text, size_t size, const char *word, const char *separator) {
    const size_t used = strlen(text);
    if (used + 1 < size)
        (void)!snprintf(text + used, size - used, "%s%s", used > 0 ? separator : "", word);
}

static void join(const char *const *words, unsigned count, uint64_t bits, char *text, size_t size) {
    text[0] = '\0';
    for (unsigned i = 0; i < count; i++)
        if (bits >> i & 1)
            append(text, size, words[i], ",");
    /* A newer daemon may know more reasons than we do. */
    if (bits >> count != 0)
        append(text, size, "other", ",");
}

void shmbloom__join_doubts(uint64_t doubts, char *text, size_t size) {
    static const char *const words[SHMBLOOM_DOUBT_COUNT] = {"partial", "warming", "paused", "lossy", "damaged"};
    join(words, SHMBLOOM_DOUBT_COUNT, doubts, text, size);
}

void shmbloom__join_warnings(uint32_t warnings, char *text, size_t size) {
    static const char *const words[SHMBLOOM_WARNING_COUNT] = {"degraded", "full", "growth_blocked", "adds_refused",
                                                              "name_lost"};
    join(words, SHMBLOOM_WARNING_COUNT, warnings, text, size);
}

void shmbloom__join_handle_doubts(uint32_t doubts, char *text, size_t size) {
    static const char *const words[] = {"no control", "no filter", "no permission", "format", "busy", "no segment"};
    join(words, sizeof words / sizeof words[0], doubts, text, size);
}

const char *shmbloom__layout_word(uint32_t layout) {
    return layout == SHMBLOOM_LAYOUT_CLASSIC ? "classic" : layout == SHMBLOOM_LAYOUT_BLOCKED ? "blocked" : "";
}

const char *shmbloom__key_type_word(uint32_t key_type) {
    return key_type == SHMBLOOM_KEY_TYPE_BYTES ? "bytes" : key_type == SHMBLOOM_KEY_TYPE_U64 ? "u64" : "";
}

const char *shmbloom__normalization_words(uint32_t normalization) {
    static const char *const words[] = {"", "trim", "lower", "trim,lower"};
    return words[normalization & (SHMBLOOM_NORMALIZE_TRIM | SHMBLOOM_NORMALIZE_LOWER)];
}

const char *shmbloom__durability_word(uint32_t durability) {
    static const char *const words[] = {"", "memory", "durable", "logged"};
    return durability < sizeof words / sizeof words[0] ? words[durability] : "";
}

void shmbloom__format_uuid(const uint8_t *uuid, char *text) {
    static const char digits[] = "0123456789abcdef";
    for (unsigned i = 0; i < SHMBLOOM_UUID_BYTES; i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            *text++ = '-';
        *text++ = digits[uuid[i] >> 4];
        *text++ = digits[uuid[i] & 15];
    }
    *text = '\0';
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

bool shmbloom__parse_uuid(const char *text, size_t size, uint8_t *uuid) {
    if (size != 36)
        return false;
    for (unsigned i = 0; i < SHMBLOOM_UUID_BYTES; i++, text += 2) {
        if ((i == 4 || i == 6 || i == 8 || i == 10) && *text++ != '-')
            return false;
        const int high = hex_digit(text[0]), low = hex_digit(text[1]);
        if (high < 0 || low < 0)
            return false;
        uuid[i] = (uint8_t)(high << 4 | low);
    }
    return true;
}

/* ---- Faults ---- */

int shmbloom__fail(struct shmbloom__fault *fault, int error, const char *where, const char *what) {
    fault->error = error;
    fault->what = what;
    fault->group = -1;
    if (where != NULL && where != fault->where)
        (void)!snprintf(fault->where, sizeof fault->where, "%s", where);
    return error;
}

int shmbloom__fail_errno(struct shmbloom__fault *fault, const char *where, const char *what) {
    return shmbloom__fail(fault, -errno, where, what);
}

uint32_t shmbloom__handle_doubt(int error) {
    switch (error) {
    case 0:
        return 0;
    case -ENXIO:
        return SHMBLOOM_HANDLE_NO_CONTROL;
    case -ENOENT:
        return SHMBLOOM_HANDLE_NO_FILTER;
    case -EACCES:
    case -EPERM:
        return SHMBLOOM_HANDLE_NO_PERMISSION;
    case -EPROTONOSUPPORT:
    case -EBADMSG:
        return SHMBLOOM_HANDLE_FORMAT;
    case -ENOLINK:
        return SHMBLOOM_HANDLE_NO_SEGMENT;
    default:
        return SHMBLOOM_HANDLE_BUSY;
    }
}

static void describe_group(int64_t gid, char *text, size_t size) {
    struct group entry, *found = NULL;
    char buffer[4096]; /* a group with more members than fit is named by its number */
    if (gid < 0)
        (void)!snprintf(text, size, "the daemon's group");
    else if (getgrgid_r((gid_t)gid, &entry, buffer, sizeof buffer, &found) == 0 && found != NULL)
        (void)!snprintf(text, size, "group '%s'", found->gr_name);
    else
        (void)!snprintf(text, size, "group %lld", (long long)gid);
}

void shmbloom__describe_fault(const struct shmbloom__fault *fault, char *text, size_t size) {
    char group[96];
    const char *where = fault->where, *what = fault->what != NULL ? fault->what : "";
    switch (fault->error) {
    case -ENXIO:
        (void)!snprintf(text, size, "no daemon of this boot in %s: start shmbloomd, or set SHMBLOOM_RUNTIME_DIR",
                        where);
        break;
    case -ENOENT:
        (void)!snprintf(text, size, "no filter %s: create it with shmbloomctl create", where);
        break;
    case -EACCES:
        describe_group(fault->group, group, sizeof group);
        (void)!snprintf(text, size, "no permission for %s: join %s and log in again", where, group);
        break;
    case -EPERM:
        (void)!snprintf(text, size, "%s is not to be trusted: %s", where, what);
        break;
    case -EPROTONOSUPPORT:
        (void)!snprintf(text, size, "%s was written by a newer daemon: update libshmbloom", where);
        break;
    case -EBADMSG:
        (void)!snprintf(text, size, "%s is not what it should be: %s", where, what);
        break;
    case -ENOLINK:
        (void)!snprintf(text, size, "%s: %s; restart shmbloomd", where, what);
        break;
    case -EINVAL:
        (void)!snprintf(text, size, "%s: %s", where, what);
        break;
    case 0:
        (void)!snprintf(text, size, "%s", "");
        break;
    default:
        (void)!snprintf(text, size, "%s: %s%s%s; tried again", where, what, what[0] ? ": " : "",
                        shmbloom_strerror(fault->error));
    }
}
