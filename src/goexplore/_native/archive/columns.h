/* The memory of an archive: the columns of goexplore.archive.Archive, ScoreIndex and SegmentTree, as C sees them. */
#ifndef GOEXPLORE_COLUMNS_H
#define GOEXPLORE_COLUMNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "byte_store.h"

enum { NO_ENTRY = -1 };

/* Where a cell's entry is: open addressing, the slots twice as many as needed at least (ScoreIndex). */
typedef struct {
    int32_t *slots;
    size_t slot_count; /* a power of two */
    uint64_t *digests; /* two words for each entry */
    double *scores;
    int32_t *lengths;
} IndexColumns;

typedef struct {
    int32_t *cell, *snapshot; /* handles */
    int32_t *segment;
    uint16_t *offset;
    int16_t *level, *room;
    int32_t *times_seen, *times_chosen, *times_chosen_since_new;
    int64_t *found_at;
    uint8_t *end;
    uint16_t *event;
} EntryColumns;

typedef struct {
    int32_t *parents;
    uint16_t *offsets;
    int32_t *holds, *handles;
} SegmentColumns;

/* Return the slot that holds a digest, or the free one where it belongs; NULL where the table makes no sense. */
static int32_t *index_slot(const IndexColumns *index, size_t entries, uint64_t low, uint64_t high)
{
    const size_t mask = index->slot_count - 1;
    size_t slot = (size_t)low & mask;
    for (size_t tried = 0; tried < index->slot_count; tried++, slot = (slot + 1) & mask) {
        const int32_t entry = index->slots[slot];
        if (entry == NO_ENTRY)
            return &index->slots[slot];
        if (entry < 0 || (size_t)entry >= entries)
            return NULL;
        if (index->digests[2 * (size_t)entry] == low && index->digests[2 * (size_t)entry + 1] == high)
            return &index->slots[slot];
    }
    return NULL;
}

/* Put entries into slots, of which there are more than entries; return whether all of them differ. */
static bool index_fill(int32_t *slots, size_t slot_count, const uint64_t *digests, size_t first, size_t entries)
{
    const IndexColumns index = {.slots = slots, .slot_count = slot_count, .digests = (uint64_t *)(uintptr_t)digests};
    for (size_t entry = first; entry < entries; entry++) {
        int32_t *slot = index_slot(&index, entry, digests[2 * entry], digests[2 * entry + 1]);
        if (slot == NULL || *slot != NO_ENTRY)
            return false;
        *slot = (int32_t)entry;
    }
    return true;
}

#endif
