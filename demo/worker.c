/* demo_worker RUNTIME_DIR FILTER: a worker process as a service would have many of. It opens the filter once and never
 * again, then does what the lines on its standard input say and answers each with one line:
 *
 *   ask LINK              absent | maybe | unverified
 *   add LINK              added, was absent | added, was maybe | added, was unverified | not added: WHY
 *   links FIRST COUNT     found N absent N unverified N: these short links, all of which exist
 *   lines FILE            the same for the lines of a file
 *   fill FIRST N EXIST    filled N: prepares N requests, for never-added links from the FIRST-th on, but each 20th for
 *                         one of the EXIST links that exist
 *   traffic MS            lookups N microseconds N absent N unverified N never N never_maybe N missed N:
 *                         answers the prepared requests over and over for MS milliseconds. `never` is how many of them
 *                         are for links never added, `never_maybe` how many of these were answered "maybe" in the last
 *                         pass, `missed` how often an existing link was answered "absent": 0, or all is lost
 */
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <shmbloom/shmbloom.h>

#include "short_link.h"

#define EXISTING_ONE_IN 20

static const char *const answer_names[] = {"absent", "maybe", "unverified"};

struct counts {
    uint64_t by_answer[3];
};

struct traffic {
    char (*links)[SHORT_LINK_LENGTH];
    size_t count;
};

static uint64_t now_us(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void print_counts(const struct counts *counts) {
    printf("found %" PRIu64 " absent %" PRIu64 " unverified %" PRIu64 "\n", counts->by_answer[SHMBLOOM_MAYBE],
           counts->by_answer[SHMBLOOM_ABSENT], counts->by_answer[SHMBLOOM_UNVERIFIED]);
}

static void ask(shmbloom_filter *filter, const char *link) {
    puts(answer_names[shmbloom_contains(filter, link, strlen(link))]);
}

static void add(shmbloom_filter *filter, const char *link) {
    int r = shmbloom_add(filter, link, strlen(link));
    if (r < 0)
        printf("not added: %s\n", shmbloom_strerror(r));
    else
        printf("added, was %s\n", answer_names[r]);
}

static void ask_links(shmbloom_filter *filter, uint64_t first, uint64_t count) {
    struct counts counts = {{0}};
    for (uint64_t number = first; number < first + count; number++) {
        char link[SHORT_LINK_LENGTH];
        short_link(number, link);
        counts.by_answer[shmbloom_contains(filter, link, sizeof link)]++;
    }
    print_counts(&counts);
}

static void ask_lines(shmbloom_filter *filter, const char *path) {
    struct counts counts = {{0}};
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t capacity = 0;
    ssize_t length;
    while (file && (length = getline(&line, &capacity, file)) > 0) {
        if (line[length - 1] == '\n')
            length--;
        counts.by_answer[shmbloom_contains(filter, line, (size_t)length)]++;
    }
    if (file)
        fclose(file);
    free(line);
    print_counts(&counts);
}

/* Every 20th request is for a link that exists, as on a service where most requests are guesses and typing errors. */
static int request_exists(size_t i) {
    return i % EXISTING_ONE_IN == 0;
}

static void fill(struct traffic *traffic, uint64_t first, size_t count, uint64_t existing) {
    free(traffic->links);
    traffic->links = malloc(count * sizeof *traffic->links);
    traffic->count = traffic->links ? count : 0;
    for (size_t i = 0; i < traffic->count; i++)
        short_link(request_exists(i) ? (first + i) % existing : SHORT_LINK_NEVER + first + i, traffic->links[i]);
    printf("filled %zu\n", traffic->count);
}

/* One pass over the prepared requests. */
static void pass(shmbloom_filter *filter, const struct traffic *traffic, struct counts *existing,
                 struct counts *never) {
    memset(existing, 0, sizeof *existing);
    memset(never, 0, sizeof *never);
    for (size_t i = 0; i < traffic->count; i++) {
        int answer = shmbloom_contains(filter, traffic->links[i], SHORT_LINK_LENGTH);
        (request_exists(i) ? existing : never)->by_answer[answer]++;
    }
}

static void run_traffic(shmbloom_filter *filter, const struct traffic *traffic, uint64_t milliseconds) {
    struct counts existing = {{0}}, never = {{0}};
    uint64_t lookups = 0, absent = 0, unverified = 0, missed = 0;
    uint64_t began = now_us(), elapsed;
    do {
        pass(filter, traffic, &existing, &never);
        lookups += traffic->count;
        absent += never.by_answer[SHMBLOOM_ABSENT] + existing.by_answer[SHMBLOOM_ABSENT];
        unverified += never.by_answer[SHMBLOOM_UNVERIFIED] + existing.by_answer[SHMBLOOM_UNVERIFIED];
        missed += existing.by_answer[SHMBLOOM_ABSENT];
        elapsed = now_us() - began;
    } while (elapsed < milliseconds * 1000);
    printf("lookups %" PRIu64 " microseconds %" PRIu64 " absent %" PRIu64 " unverified %" PRIu64 " never %" PRIu64
           " never_maybe %" PRIu64 " missed %" PRIu64 "\n",
           lookups, elapsed, absent, unverified, never.by_answer[0] + never.by_answer[1] + never.by_answer[2],
           never.by_answer[SHMBLOOM_MAYBE], missed);
}

static void obey(shmbloom_filter *filter, struct traffic *traffic, const char *line) {
    char text[512];
    uint64_t first, count, existing;
    if (sscanf(line, "ask %511s", text) == 1)
        ask(filter, text);
    else if (sscanf(line, "add %511s", text) == 1)
        add(filter, text);
    else if (sscanf(line, "links %" SCNu64 " %" SCNu64, &first, &count) == 2)
        ask_links(filter, first, count);
    else if (sscanf(line, "lines %511s", text) == 1)
        ask_lines(filter, text);
    else if (sscanf(line, "fill %" SCNu64 " %" SCNu64 " %" SCNu64, &first, &count, &existing) == 3 && existing > 0)
        fill(traffic, first, count, existing);
    else if (sscanf(line, "traffic %" SCNu64, &count) == 1)
        run_traffic(filter, traffic, count);
    else
        puts("what?");
    fflush(stdout);
}

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s RUNTIME_DIR FILTER\n", argv[0]);
        return 2;
    }
    char why[512] = "";
    shmbloom_options options = {
        .struct_size = sizeof options, .runtime_dir = argv[1], .error_text = why, .error_text_size = sizeof why};
    shmbloom_filter *filter;
    int r = shmbloom_open(&filter, argv[2], &options);
    if (r < 0) {
        fprintf(stderr, "demo_worker: %s\n", why[0] ? why : shmbloom_strerror(r));
        return 1;
    }
    puts("open");
    fflush(stdout);

    struct traffic traffic = {0};
    char line[1024];
    while (fgets(line, sizeof line, stdin))
        obey(filter, &traffic, line);
    free(traffic.links);
    shmbloom_close(filter);
    return 0;
}
