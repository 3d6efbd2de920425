/* BLAKE2b with 16 bytes of output (RFC 7693): how the scoreboard tells cells apart. */
#ifndef GOEXPLORE_DIGEST_H
#define GOEXPLORE_DIGEST_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    uint64_t low, high;
} Digest;

static inline uint64_t rotate_right(uint64_t value, unsigned by)
{
    return value >> by | value << (64 - by);
}

static inline uint64_t load_little_endian(const uint8_t *bytes)
{
    uint64_t value = 0;
    for (unsigned byte = 0; byte < 8; byte++)
        value |= (uint64_t)bytes[byte] << 8 * byte;
    return value;
}

static const uint64_t BLAKE2B_START[8] = {
    UINT64_C(0x6a09e667f3bcc908), UINT64_C(0xbb67ae8584caa73b), UINT64_C(0x3c6ef372fe94f82b),
    UINT64_C(0xa54ff53a5f1d36f1), UINT64_C(0x510e527fade682d1), UINT64_C(0x9b05688c2b3e6c1f),
    UINT64_C(0x1f83d9abfb41bd6b), UINT64_C(0x5be0cd19137e2179)};

static const uint8_t BLAKE2B_ORDER[10][16] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}, {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4}, {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13}, {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11}, {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5}, {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};

static void blake2b_block(uint64_t chain[8], const uint8_t block[128], uint64_t count, int last)
{
    uint64_t words[16], v[16];
    for (unsigned word = 0; word < 16; word++)
        words[word] = load_little_endian(block + 8 * word);
    memcpy(v, chain, 64);
    memcpy(v + 8, BLAKE2B_START, 64);
    v[12] ^= count;
    if (last)
        v[14] = ~v[14];
    for (unsigned round = 0; round < 12; round++) {
        const uint8_t *order = BLAKE2B_ORDER[round % 10];
        for (unsigned quarter = 0; quarter < 8; quarter++) {
            /* Columns first, then diagonals. */
            const unsigned turn = quarter >> 2, at = quarter & 3;
            uint64_t *a = v + at, *b = v + 4 + ((at + turn) & 3), *c = v + 8 + ((at + 2 * turn) & 3),
                     *d = v + 12 + ((at + 3 * turn) & 3);
            *a += *b + words[order[2 * quarter]];
            *d = rotate_right(*d ^ *a, 32);
            *c += *d;
            *b = rotate_right(*b ^ *c, 24);
            *a += *b + words[order[2 * quarter + 1]];
            *d = rotate_right(*d ^ *a, 16);
            *c += *d;
            *b = rotate_right(*b ^ *c, 63);
        }
    }
    for (unsigned word = 0; word < 8; word++)
        chain[word] ^= v[word] ^ v[8 + word];
}

static Digest digest(const uint8_t *bytes, size_t size)
{
    uint64_t chain[8];
    memcpy(chain, BLAKE2B_START, sizeof chain);
    chain[0] ^= 0x01010000 ^ 16; /* no key, 16 bytes of output */
    size_t done = 0;
    for (; size - done > 128; done += 128)
        blake2b_block(chain, bytes + done, done + 128, 0);
    uint8_t block[128] = {0};
    memcpy(block, bytes + done, size - done);
    blake2b_block(chain, block, size, 1);
    return (Digest){chain[0], chain[1]};
}

#endif
