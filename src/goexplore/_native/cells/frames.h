/* Frames as few bytes, for dynamic cells. The definition is goexplore/cells/_frames.py. */
#ifndef GOEXPLORE_FRAMES_H
#define GOEXPLORE_FRAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { FRAME_HEAD = 5, LONGEST_RUN = 255 };

/* Runs as they are written. */
typedef struct {
    uint8_t *at, *end;
    uint32_t length; /* of the run that is not written yet */
    uint8_t value;
} Runs;

/* Write the run that has ended; return false where all pixels would take less. */
static inline bool end_run(Runs *runs)
{
    while (runs->length > 0) {
        const uint32_t length = runs->length < LONGEST_RUN ? runs->length : LONGEST_RUN;
        if (runs->end - runs->at <= 2)
            return false;
        *runs->at++ = (uint8_t)length;
        *runs->at++ = runs->value;
        runs->length -= length;
    }
    return true;
}

static inline bool add_to_runs(Runs *runs, uint8_t value, uint32_t length)
{
    if (value != runs->value) {
        if (!end_run(runs))
            return false;
        runs->value = value;
    }
    runs->length += length;
    return true;
}

/* Write the grey levels of a frame of palette indices in runs; return false where all pixels would take less. */
static bool pack_runs(const uint8_t *pixels, size_t rows, size_t columns, const int16_t *grey, Runs *runs)
{
    for (size_t row = 0; row < rows; row++, pixels += columns) {
        const uint8_t *above = pixels - columns;
        if (row > 0 && memcmp(above, pixels, columns) == 0) {
            if (!add_to_runs(runs, 0, (uint32_t)columns))
                return false;
            continue;
        }
        for (size_t column = 0; column < columns; column++) {
            const uint8_t level = (uint8_t)grey[pixels[column]];
            if (!add_to_runs(runs, row > 0 ? level ^ (uint8_t)grey[above[column]] : level, 1))
                return false;
        }
    }
    return end_run(runs);
}

/* Write the grey levels of a frame of palette indices, up to FRAME_HEAD + rows * columns bytes; return how many. */
static size_t pack_frame(const uint8_t *pixels, size_t rows, size_t columns, const int16_t *grey, uint8_t *packed)
{
    const size_t size = rows * columns;
    const uint8_t head[FRAME_HEAD] = {(uint8_t)rows, (uint8_t)(rows >> 8), (uint8_t)columns, (uint8_t)(columns >> 8), 1};
    memcpy(packed, head, sizeof head);
    packed += FRAME_HEAD;
    Runs runs = {.at = packed, .end = packed + size};
    if (pack_runs(pixels, rows, columns, grey, &runs))
        return FRAME_HEAD + (size_t)(runs.at - packed);
    packed[-1] = 0;
    for (size_t pixel = 0; pixel < size; pixel++)
        packed[pixel] = (uint8_t)grey[pixels[pixel]];
    return FRAME_HEAD + size;
}

#endif
