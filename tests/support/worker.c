/* A worker process for tests, driven by lines: it opens filters once and never again unless told to. Each line gets one
 * line back.
 *   open NAME                          ok | error -N text
 *   close                              ok
 *   count KIND FROM COUNT              absent A maybe M unverified U      over keys FROM .. FROM+COUNT-1
 *   add KIND FROM COUNT FILE           acknowledged N refused N last -N text; indexes acknowledged are appended to FILE
 *                                      one uint64_t each, right after the acknowledgement
 *   ask KEY                            0 | 1 | 2
 *   put KEY                            the answer, or a negative errno
 *   info                               live L doubts D handle H warnings W generation G
 *   fork KIND FROM COUNT               as count, answered by a forked child
 *   found KEY                          what shmbloom_report_found returns
 *   strict KIND FROM COUNT             enters seccomp strict mode, then as count; the process ends
 *   pss PREFIX                         KiB of proportional set size of mappings whose name begins so
 *   timeout MS                         ok; for the next open
 *   crowd NAME KIND THREADS FILE       as watch, by so many threads, each with a handle of its own on NAME
 * These two go on until another line comes, whatever it says, and then answer once:
 *   flood KIND FROM 0 FILE             acknowledged N refused R unknown U twice T; adds without pause, FILE as for add.
 *                                      unknown: sent, and no reply came; twice: acknowledged, but sent more than once
 *   watch KIND 0 0 FILE[,FILE...]      as count, with "first I" behind; looks up every index that appears in the files,
 *                                      at once and again and again. absent is the number of wrong answers, I the first
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "keys.h"
#include "shmbloom/shmbloom.h"

static _Thread_local shmbloom_filter *filter; /* of this thread */
static shmbloom_options options = {.struct_size = sizeof options};
static char error_text[512];

static int ask_text(const char *kind, const char *key, size_t size) {
    return strcmp(kind, "u64") == 0 ? shmbloom_contains_u64(filter, strtoull(key, NULL, 10))
                                    : shmbloom_contains(filter, key, size);
}

static int put_text(const char *kind, const char *key, size_t size) {
    return strcmp(kind, "u64") == 0 ? shmbloom_add_u64(filter, strtoull(key, NULL, 10)) : shmbloom_add(filter, key, size);
}

static size_t count_answers(char *reply, size_t size, const char *kind, uint64_t from, uint64_t count) {
    uint64_t answers[3] = {0, 0, 0};
    for (uint64_t i = 0; i < count; i++) {
        char key[TEST_KEY_MAX_BYTES];
        const size_t length = test_key(key, kind, from + i);
        answers[ask_text(kind, key, length)]++;
    }
    return (size_t)snprintf(reply, size, "absent %" PRIu64 " maybe %" PRIu64 " unverified %" PRIu64 "\n", answers[0],
                            answers[1], answers[2]);
}

static void count(const char *kind, uint64_t from, uint64_t n) {
    char reply[128];
    count_answers(reply, sizeof reply, kind, from, n);
    fputs(reply, stdout);
}

static void add(const char *kind, uint64_t from, uint64_t n, const char *path) {
    uint64_t acknowledged = 0, refused = 0;
    int last = 0;
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (uint64_t i = from; fd >= 0 && i < from + n; i++) {
        char key[TEST_KEY_MAX_BYTES];
        const size_t length = test_key(key, kind, i);
        const int answer = put_text(kind, key, length);
        if (answer < 0) {
            refused++;
            last = answer;
        } else if (write(fd, &i, sizeof i) == sizeof i) {
            acknowledged++;
        }
    }
    if (fd >= 0)
        close(fd);
    printf("acknowledged %" PRIu64 " refused %" PRIu64 " last %d %s\n", acknowledged, refused, last, shmbloom_strerror(last));
}

/* Another line has come. */
static int is_told(int timeout_ms) {
    struct pollfd in = {STDIN_FILENO, POLLIN, 0};
    return poll(&in, 1, timeout_ms) != 0;
}

static void wait_for_line(void) {
    char line[64];
    if (fgets(line, sizeof line, stdin) == NULL)
        exit(0);
}

static void flood(const char *kind, uint64_t from, const char *path) {
    uint64_t acknowledged = 0, refused = 0, unknown = 0, twice = 0;
    const int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    for (uint64_t i = from; fd >= 0 && !is_told(0); i++) {
        char key[TEST_KEY_MAX_BYTES];
        const size_t length = test_key(key, kind, i);
        const int answer = put_text(kind, key, length);
        if (answer == -ETIMEDOUT)
            unknown++;
        else if (answer < 0)
            refused++;
        else if (write(fd, &i, sizeof i) == sizeof i) {
            acknowledged++;
            twice += answer == SHMBLOOM_UNVERIFIED;
        }
    }
    if (fd >= 0)
        close(fd);
    wait_for_line();
    printf("acknowledged %" PRIu64 " refused %" PRIu64 " unknown %" PRIu64 " twice %" PRIu64 "\n", acknowledged, refused,
           unknown, twice);
}

#define WATCHED_FILES_MAX 8

struct watched {
    uint64_t answers[3], first_absent;
};

static struct watched watch_until_told(const char *kind, char *paths) {
    struct watched watched = {{0, 0, 0}, 0};
    uint64_t *seen = NULL;
    size_t count = 0, room = 0, cursor = 0, files = 0;
    char *rest = NULL;
    const char *path[WATCHED_FILES_MAX];
    int fd[WATCHED_FILES_MAX];
    for (char *at = strtok_r(paths, ",", &rest); at != NULL && files < WATCHED_FILES_MAX; at = strtok_r(NULL, ",", &rest)) {
        path[files] = at;
        fd[files++] = -1;
    }
    while (!is_told(1)) {
        const size_t known = count;
        for (size_t f = 0; f < files; f++) {
            uint64_t block[1024];
            if (fd[f] < 0)
                fd[f] = open(path[f], O_RDONLY | O_CLOEXEC); /* its adder may not have begun */
            const ssize_t n = fd[f] < 0 ? 0 : read(fd[f], block, sizeof block);
            const size_t fresh = n > 0 ? (size_t)n / sizeof block[0] : 0;
            if (count + fresh > room)
                seen = realloc(seen, (room = 2 * room + 1024) * sizeof *seen);
            for (size_t i = 0; i < fresh; i++)
                seen[count++] = block[i];
        }
        /* The new ones, and some of the old ones. */
        for (size_t i = 0; i < count - known + (known < 256 ? known : 256); i++) {
            char key[TEST_KEY_MAX_BYTES];
            const uint64_t index = i < count - known ? seen[known + i] : seen[cursor++ % known];
            const int answer = ask_text(kind, key, test_key(key, kind, index));
            if (answer == SHMBLOOM_ABSENT && watched.answers[SHMBLOOM_ABSENT] == 0)
                watched.first_absent = index;
            watched.answers[answer]++;
        }
    }
    for (size_t f = 0; f < files; f++)
        if (fd[f] >= 0)
            close(fd[f]);
    free(seen);
    return watched;
}

static void show_watched(const struct watched *w) {
    wait_for_line();
    printf("absent %" PRIu64 " maybe %" PRIu64 " unverified %" PRIu64 " first %" PRIu64 "\n", w->answers[0], w->answers[1],
           w->answers[2], w->first_absent);
}

static void watch(const char *kind, char *paths) {
    const struct watched watched = watch_until_told(kind, paths);
    show_watched(&watched);
}

static void fork_and_count(const char *kind, uint64_t from, uint64_t n) {
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        count(kind, from, n);
        fflush(stdout);
        _exit(0);
    }
    if (child < 0 || waitpid(child, NULL, 0) != child)
        printf("error %d\n", -errno);
}

/* After this only read, write and exit may be called; anything else kills the process. The C library's exit would call
 * exit_group, which strict mode does not know. */
static void count_under_seccomp(const char *kind, uint64_t from, uint64_t n) {
    char reply[128];
    count_answers(reply, sizeof reply, kind, from, 1); /* binds every symbol first */
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) {
        printf("error %d\n", -errno);
        return;
    }
    const size_t size = count_answers(reply, sizeof reply, kind, from, n);
    if (write(STDOUT_FILENO, reply, size) == (ssize_t)size)
        syscall(SYS_exit, 0);
    syscall(SYS_exit, 1);
}

static void show_pss(const char *prefix) {
    FILE *maps = fopen("/proc/self/smaps", "r");
    char line[1024];
    unsigned long kib = 0, total = 0;
    int here = 0;
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        if (strchr(line, '-') != NULL && strstr(line, " r") != NULL && strchr(line, ':') > strchr(line, ' '))
            here = strstr(line, prefix) != NULL;
        else if (here && sscanf(line, "Pss: %lu kB", &kib) == 1)
            total += kib;
    }
    if (maps != NULL)
        fclose(maps);
    printf("%lu\n", total);
}

static void show_info(void) {
    shmbloom_info info = {.struct_size = sizeof info};
    const int r = shmbloom_get_info(filter, &info);
    if (r < 0)
        printf("error %d %s\n", r, shmbloom_strerror(r));
    else
        printf("live %d doubts [%s] handle [%s] warnings [%s] generation %" PRIu64 "\n", info.live, info.doubts_text,
               info.handle_doubts_text, info.warnings_text, info.generation);
}

static void open_filter(const char *name) {
    options.error_text = error_text;
    options.error_text_size = sizeof error_text;
    filter = shmbloom_close(filter);
    const int r = shmbloom_open(&filter, name, &options);
    if (r < 0)
        printf("error %d %s\n", r, error_text);
    else
        puts("ok");
}

#define CROWD_MAX 16

struct member {
    pthread_t thread;
    const char *name, *kind, *path;
    int error;
    struct watched watched;
};

static void *run_member(void *context) {
    struct member *m = context;
    char paths[2048];
    snprintf(paths, sizeof paths, "%s", m->path);
    m->error = shmbloom_open(&filter, m->name, NULL);
    if (m->error == 0)
        m->watched = watch_until_told(m->kind, paths);
    filter = shmbloom_close(filter);
    return NULL;
}

static void crowd(const char *name, const char *kind, size_t threads, const char *path) {
    struct member members[CROWD_MAX];
    struct watched all = {{0, 0, 0}, 0};
    int error = 0;
    threads = threads < CROWD_MAX ? threads : CROWD_MAX;
    for (size_t i = 0; i < threads; i++) {
        members[i] = (struct member){0, name, kind, path, 0, {{0, 0, 0}, 0}};
        if (pthread_create(&members[i].thread, NULL, run_member, &members[i]) != 0)
            exit(1);
    }
    for (size_t i = 0; i < threads; i++) {
        pthread_join(members[i].thread, NULL);
        error = members[i].error != 0 ? members[i].error : error;
        if (members[i].watched.answers[SHMBLOOM_ABSENT] != 0)
            all.first_absent = members[i].watched.first_absent;
        for (size_t a = 0; a < 3; a++)
            all.answers[a] += members[i].watched.answers[a];
    }
    if (error == 0) {
        show_watched(&all);
    } else {
        wait_for_line();
        printf("error %d %s\n", error, shmbloom_strerror(error));
    }
}

int main(void) {
    char line[4096];
    setvbuf(stdin, NULL, _IONBF, 0); /* poll must see what has not been read yet */
    while (fgets(line, sizeof line, stdin) != NULL) {
        char verb[16] = "", word[2048] = "", path[2048] = "";
        uint64_t from = 0, n = 0;
        line[strcspn(line, "\n")] = '\0';
        sscanf(line, "%15s %2047s %" SCNu64 " %" SCNu64 " %2047s", verb, word, &from, &n, path);
        if (strcmp(verb, "open") == 0)
            open_filter(word);
        else if (strcmp(verb, "close") == 0)
            puts((filter = shmbloom_close(filter)) == NULL ? "ok" : "error");
        else if (strcmp(verb, "count") == 0)
            count(word, from, n);
        else if (strcmp(verb, "add") == 0)
            add(word, from, n, path);
        else if (strcmp(verb, "ask") == 0)
            printf("%d\n", shmbloom_contains(filter, word, strlen(word)));
        else if (strcmp(verb, "put") == 0)
            printf("%d\n", shmbloom_add(filter, word, strlen(word)));
        else if (strcmp(verb, "info") == 0)
            show_info();
        else if (strcmp(verb, "fork") == 0)
            fork_and_count(word, from, n);
        else if (strcmp(verb, "found") == 0)
            printf("%d\n", shmbloom_report_found(filter, word, strlen(word)));
        else if (strcmp(verb, "strict") == 0)
            count_under_seccomp(word, from, n);
        else if (strcmp(verb, "flood") == 0)
            flood(word, from, path);
        else if (strcmp(verb, "watch") == 0)
            watch(word, path);
        else if (strcmp(verb, "crowd") == 0) {
            char kind[16] = "";
            unsigned threads = 0;
            if (sscanf(line, "%*s %*s %15s %u %2047s", kind, &threads, path) == 3)
                crowd(word, kind, threads, path);
            else
                puts("error usage: crowd NAME KIND THREADS FILE");
        } else if (strcmp(verb, "pss") == 0)
            show_pss(word);
        else if (strcmp(verb, "timeout") == 0) {
            options.add_timeout_ms = (int32_t)strtol(word, NULL, 10);
            puts("ok");
        } else
            printf("error unknown verb '%s'\n", verb);
        fflush(stdout);
    }
    shmbloom_close(filter);
    return 0;
}
