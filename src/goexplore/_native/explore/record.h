/* What one exploration found, as one flat record: made by the kernel, taken in by the archive, cheap to send.
 *
 * A head, then its visits and candidates, then bytes: the actions, the keys of visits that have one, the candidates'
 * snapshots, and the sampled frame of dynamic cells. Numbers have the machine's byte order. The definition of the same
 * layout in Python is goexplore/archive/_packed.py.
 */
#ifndef GOEXPLORE_RECORD_H
#define GOEXPLORE_RECORD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RECORD_VERSION = 1, RECORD_UNIT = 8, RECORD_UNKNOWN = -1 };

typedef struct {
    uint32_t size; /* of the whole record, in bytes: a multiple of RECORD_UNIT */
    uint16_t version;
    uint16_t fault;  /* what stopped the engine, from 1; 0 where nothing did */
    uint32_t order;  /* of the task in its batch, from 1 */
    uint32_t played; /* training frames */
    uint32_t action_size;
    uint32_t visit_count, candidate_count, frame_size;
} RecordHead;

/* A cell that was passed through. Its key is in the record if it has no entry, or if there is a candidate for it. */
typedef struct {
    uint64_t low, high; /* digest */
    int32_t entry;      /* or RECORD_UNKNOWN */
    uint32_t key_size;  /* 0 where the key is not in the record */
} RecordVisit;

typedef struct {
    double score;
    int32_t length;
    uint32_t offset; /* actions of the exploration that led here */
    uint32_t visit;
    uint32_t snapshot_size;
    int16_t level, room;
    uint32_t unused;
} RecordCandidate;

_Static_assert(sizeof(RecordHead) == 32 && sizeof(RecordVisit) == 24 && sizeof(RecordCandidate) == 32,
               "records have no padding");

/* Where the parts of a record are. */
typedef struct {
    const RecordHead *head;
    const RecordVisit *visits;
    const RecordCandidate *candidates;
    const uint8_t *actions, *keys, *snapshots, *frame;
} Record;

static inline size_t record_padded(size_t size)
{
    return (size + RECORD_UNIT - 1) / RECORD_UNIT * RECORD_UNIT;
}

/* Find the parts of a record of at most `size` bytes, at an address that suits numbers of 8 bytes; return false where
 * any of them would lie outside. */
static inline bool record_read(const uint8_t *bytes, size_t size, Record *record)
{
    const RecordHead *head = (const RecordHead *)(const void *)bytes;
    if (size < sizeof *head || head->version != RECORD_VERSION || head->size > size || head->size % RECORD_UNIT)
        return false;
    const uint64_t visits = sizeof *head, candidates = visits + (uint64_t)head->visit_count * sizeof(RecordVisit),
                   actions = candidates + (uint64_t)head->candidate_count * sizeof(RecordCandidate),
                   keys = actions + head->action_size;
    if (keys > head->size)
        return false;
    record->head = head;
    record->visits = (const RecordVisit *)(const void *)(bytes + visits);
    record->candidates = (const RecordCandidate *)(const void *)(bytes + candidates);
    record->actions = bytes + actions;
    record->keys = bytes + keys;
    uint64_t end = keys;
    for (uint32_t visit = 0; visit < head->visit_count; visit++)
        end += record->visits[visit].key_size; /* 2^32 numbers of 32 bits fit into 64 */
    if (end > head->size)
        return false;
    record->snapshots = bytes + end;
    for (uint32_t candidate = 0; candidate < head->candidate_count; candidate++) {
        if (record->candidates[candidate].visit >= head->visit_count)
            return false;
        end += record->candidates[candidate].snapshot_size;
    }
    record->frame = bytes + (end <= head->size ? end : 0);
    return record_padded((size_t)(end + head->frame_size)) == head->size;
}

#endif
