/* The frame, grey, averaged over areas (paper section 2.1.1). The definition is goexplore/cells/_downscaled.py. */
#ifndef GOEXPLORE_DOWNSCALE_H
#define GOEXPLORE_DOWNSCALE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* What a bin covers, in units of 1/bins of a pixel (or row): `first` units of pixel `start`, all of the pixels after it
 * up to `stop`, and `last` units of pixel `stop`. */
typedef struct {
    uint16_t start, stop, first, last;
} Span;

typedef struct {
    size_t rows, columns, width, height, levels;
    Span *column_spans, *row_spans;
    uint8_t *frame;      /* the last frame: most rows are as they were */
    uint8_t *known;      /* per row: whether its sums belong to `frame` */
    uint8_t *changed;    /* per row: whether `values` are from before its sums */
    uint8_t *values;     /* the last cell */
    uint32_t *row_sums;  /* per row: grey levels summed over each bin, in units of 1/width of a pixel */
    uint64_t *bin_sums;  /* one row of bins */
} Downscale;

static Span *make_spans(size_t pixels, size_t bins)
{
    Span *spans = calloc(bins, sizeof(Span));
    if (spans == NULL)
        return NULL;
    for (size_t bin = 0; bin < bins; bin++) {
        /* A pixel covers [pixel * bins, (pixel + 1) * bins), a bin [bin * pixels, (bin + 1) * pixels). */
        size_t begin = bin * pixels, end = begin + pixels;
        size_t start = begin / bins, stop = end / bins;
        spans[bin].start = (uint16_t)start;
        spans[bin].stop = (uint16_t)stop;
        spans[bin].first = (uint16_t)((start + 1) * bins - begin);
        spans[bin].last = (uint16_t)(end - stop * bins);
    }
    return spans;
}

static void downscale_free(Downscale *self)
{
    free(self->column_spans);
    free(self->row_spans);
    free(self->frame);
    free(self->known);
    free(self->changed);
    free(self->values);
    free(self->row_sums);
    free(self->bin_sums);
    memset(self, 0, sizeof *self);
}

/* Return false where memory is short. */
static bool downscale_begin(Downscale *self, size_t rows, size_t columns, size_t width, size_t height, size_t levels)
{
    *self = (Downscale){.rows = rows, .columns = columns, .width = width, .height = height, .levels = levels};
    self->column_spans = make_spans(columns, width);
    self->row_spans = make_spans(rows, height);
    self->frame = calloc(rows, columns);
    self->known = calloc(rows, 1);
    self->changed = calloc(rows, 1);
    self->values = calloc(width, height);
    self->row_sums = calloc(rows * width, sizeof(uint32_t));
    self->bin_sums = calloc(width, sizeof(uint64_t));
    if (self->column_spans && self->row_spans && self->frame && self->known && self->changed && self->values &&
        self->row_sums && self->bin_sums)
        return true;
    downscale_free(self);
    return false;
}

/* Sum one row's grey levels over its bins; return false where a colour is not known. */
static bool sum_row(const Downscale *self, const uint8_t *pixels, const int16_t *grey, uint32_t *sums)
{
    int unknown = 0;
    for (size_t bin = 0; bin < self->width; bin++) {
        const Span *span = &self->column_spans[bin];
        int first = grey[pixels[span->start]], last = span->last ? grey[pixels[span->stop]] : 0, between = 0;
        for (int column = span->start + 1; column < span->stop; column++) {
            int level = grey[pixels[column]];
            unknown |= level;
            between += level;
        }
        unknown |= first | last;
        sums[bin] = (uint32_t)(first * span->first + between * (int)self->width + last * span->last);
    }
    return unknown >= 0;
}

/* Sum the rows' sums over one bin of rows. */
static void sum_rows(const Downscale *self, const Span *span, uint64_t *sums)
{
    const uint32_t *first = self->row_sums + span->start * self->width;
    const uint32_t *last = self->row_sums + span->stop * self->width;
    memset(sums, 0, self->width * sizeof(uint64_t));
    for (const uint32_t *row = first + self->width; row < last; row += self->width)
        for (size_t bin = 0; bin < self->width; bin++)
            sums[bin] += row[bin];
    for (size_t bin = 0; bin < self->width; bin++) {
        sums[bin] = sums[bin] * (uint64_t)self->height + (uint64_t)first[bin] * span->first;
        if (span->last)
            sums[bin] += (uint64_t)last[bin] * span->last;
    }
}

/* Average one bin of rows, if one of its rows has changed. */
static void update_bin(Downscale *self, size_t bin)
{
    const Span *span = &self->row_spans[bin];
    if (memchr(self->changed + span->start, 1, (size_t)(span->stop + (span->last > 0) - span->start)) == NULL)
        return;
    /* A product takes less time than a quotient and is as exact: with the half, what is rounded down is 0.5 / whole or more,
     * so over 2^-41, away from whole numbers on both sides; the error of a value up to 255 is below 2^-43. */
    const double share = 1.0 / (255.0 * (double)self->rows * (double)self->columns);
    uint8_t *values = self->values + bin * self->width;
    sum_rows(self, span, self->bin_sums);
    for (size_t cell = 0; cell < self->width; cell++)
        values[cell] = (uint8_t)(((double)(int64_t)(self->bin_sums[cell] * self->levels) + 0.5) * share);
}

/* Write the cell of a frame of palette indices; return false where a colour's grey level is below 0. Screens differ little
 * from one to the next, so only what has changed is computed. */
static bool downscale(Downscale *self, const uint8_t *pixels, const int16_t *grey, uint8_t *values)
{
    for (size_t row = 0; row < self->rows; row++, pixels += self->columns) {
        uint8_t *before = self->frame + row * self->columns;
        if (self->known[row] && memcmp(before, pixels, self->columns) == 0)
            continue;
        uint32_t *sums = self->row_sums + row * self->width;
        self->known[row] = 0;
        self->changed[row] = 1;
        if (row > 0 && memcmp(pixels - self->columns, pixels, self->columns) == 0)
            memcpy(sums, sums - self->width, self->width * sizeof *sums);
        else if (!sum_row(self, pixels, grey, sums))
            return false;
        memcpy(before, pixels, self->columns);
        self->known[row] = 1;
    }
    for (size_t bin = 0; bin < self->height; bin++)
        update_bin(self, bin);
    memset(self->changed, 0, self->rows);
    memcpy(values, self->values, self->width * self->height);
    return true;
}

#endif
