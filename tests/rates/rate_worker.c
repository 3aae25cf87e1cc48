/* A worker that asks, through the public functions alone. For each line "NAME KIND FROM N ABSENT COUNT" it opens the
 * filter, asks for the keys FROM .. FROM+N-1, which were added, and for ABSENT .. ABSENT+COUNT-1, which were not, and
 * answers "MISSING UNVERIFIED FALSE_POSITIVES". */
#include <inttypes.h>

#include "rate_keys.h"
#include "shmbloom/shmbloom.h"

static struct rate_words words;

struct answers {
    uint64_t of[3];
};

static struct answers ask(shmbloom_filter *filter, enum rate_kind kind, uint64_t from, uint64_t count) {
    struct answers answers = {{0, 0, 0}};
    char key[RATE_KEY_MAX_BYTES];
    if (kind == RATE_U64) {
        for (uint64_t i = from; i < from + count; i++)
            answers.of[shmbloom_contains_u64(filter, rate_mix(i + 1))]++;
        return answers;
    }
    for (uint64_t i = from; i < from + count; i++) {
        const size_t size = rate_key(key, kind, &words, i);
        answers.of[shmbloom_contains(filter, key, size)]++;
    }
    return answers;
}

int main(void) {
    char line[512];
    if (rate_load_words(&words) < 0)
        return 1;
    while (fgets(line, sizeof line, stdin) != NULL) {
        char name[80], error[512] = "";
        int kind;
        uint64_t from, n, absent, count;
        shmbloom_filter *filter = NULL;
        const shmbloom_options options = {
            .struct_size = sizeof options, .error_text = error, .error_text_size = sizeof error};
        if (sscanf(line, "%79s %d %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, name, &kind, &from, &n, &absent,
                   &count) != 6)
            return 1;
        if (shmbloom_open(&filter, name, &options) < 0) {
            printf("%s\n", error);
        } else {
            const struct answers added = ask(filter, (enum rate_kind)kind, from, n);
            const struct answers others = ask(filter, (enum rate_kind)kind, absent, count);
            printf("%" PRIu64 " %" PRIu64 " %" PRIu64 "\n", added.of[SHMBLOOM_ABSENT],
                   added.of[SHMBLOOM_UNVERIFIED] + others.of[SHMBLOOM_UNVERIFIED], others.of[SHMBLOOM_MAYBE]);
        }
        shmbloom_close(filter);
        fflush(stdout);
    }
    return 0;
}
