/* SplitMix64, as in goexplore/random.py. */
#ifndef GOEXPLORE_RANDOM_H
#define GOEXPLORE_RANDOM_H

#include <stdint.h>

static inline uint64_t draw_word(uint64_t *stream)
{
    uint64_t z = *stream += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

static inline uint32_t draw_below(uint64_t *stream, uint32_t limit)
{
    return (uint32_t)((draw_word(stream) >> 32) * limit >> 32);
}

#endif
