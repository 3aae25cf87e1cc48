/* The demo's short links: seven base62 characters that look like chance but are a function of their number, so that
 * every program of the demo knows which links exist. */
#ifndef SHMBLOOM_DEMO_SHORT_LINK_H
#define SHMBLOOM_DEMO_SHORT_LINK_H

#include <stdint.h>

#define SHORT_LINK_LENGTH 7

/* Links from this number on are never added. Different numbers below 2^41 have different links. */
#define SHORT_LINK_NEVER UINT64_C(1000000000)

static inline void short_link(uint64_t number, char text[SHORT_LINK_LENGTH]) {
    static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    const uint64_t mask = (UINT64_C(1) << 41) - 1; /* 2^41 < 62^7: seven characters hold it */
    uint64_t x = number & mask;
    /* Each step can be undone (an odd factor; a shift by half the width), so no two numbers meet. */
    for (int round = 0; round < 2; round++) {
        x = (x * UINT64_C(0x9E3779B97F4A7C15) + 0xBB67AE85) & mask;
        x ^= x >> 21;
    }
    for (int i = SHORT_LINK_LENGTH - 1; i >= 0; i--) {
        text[i] = digits[x % 62];
        x /= 62;
    }
}

#endif
