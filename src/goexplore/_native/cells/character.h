/* Where the character is (paper appendix A.3). The definition is goexplore/cells/_character.py. */
#ifndef GOEXPLORE_CHARACTER_H
#define GOEXPLORE_CHARACTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef struct {
    bool visible, scattered;
    int32_t x, y;
} Character;

/* Return the mean position (x doubled) of all pixels of a colour, and whether no two of them touch. */
static Character find_colour(const uint8_t *begin, size_t size, size_t width, int colour)
{
    const uint8_t *end = begin + size;
    size_t pixels = 0, columns = 0, rows = 0;
    bool touching = false;
    for (const uint8_t *at = begin; at < end && (at = memchr(at, colour, (size_t)(end - at))) != NULL; at++) {
        size_t index = (size_t)(at - begin);
        pixels++;
        columns += index % width;
        rows += index / width;
        touching |= (at + 1 < end && at[1] == colour) || ((size_t)(end - at) > width && at[width] == colour);
    }
    if (pixels == 0)
        return (Character){0};
    return (Character){true, !touching, (int32_t)(2 * columns / pixels), (int32_t)(rows / pixels)};
}

#endif
