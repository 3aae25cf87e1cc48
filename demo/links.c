/* demo_links FIRST COUNT: prints COUNT short links from number FIRST on, one a line. The demo's table of links. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "short_link.h"

int main(int argc, char **argv) {
    if (argc != 3) {
        fprintf(stderr, "usage: %s FIRST COUNT\n", argv[0]);
        return 2;
    }
    uint64_t first = strtoull(argv[1], NULL, 10);
    uint64_t count = strtoull(argv[2], NULL, 10);
    for (uint64_t number = first; number < first + count; number++) {
        char line[SHORT_LINK_LENGTH + 1];
        short_link(number, line);
        line[SHORT_LINK_LENGTH] = '\n';
        if (fwrite(line, sizeof line, 1, stdout) != 1)
            return 1;
    }
    return fclose(stdout) == 0 ? 0 : 1;
}
