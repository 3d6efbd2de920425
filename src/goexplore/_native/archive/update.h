/* What a batch found, taken into the archive: Archive.update (goexplore/archive/_archive.py) for records.
 *
 * The definition is the one in Python: from the same results come the same columns, byte for byte, and the same byte
 * strings behind the same handles. Columns have room for all that the batch can add.
 */
#ifndef GOEXPLORE_UPDATE_H
#define GOEXPLORE_UPDATE_H

#include <stdlib.h>

#include "../explore/record.h"
#include "columns.h"

/* A list of numbers that grows. */
typedef struct {
    int32_t *items;
    size_t size, room;
} Numbers;

static bool numbers_add(Numbers *numbers, int32_t number)
{
    if (numbers->size == numbers->room) {
        const size_t room = 2 * numbers->room + 1024;
        int32_t *larger = realloc(numbers->items, room * sizeof *larger);
        if (larger == NULL)
            return false;
        numbers->items = larger;
        numbers->room = room;
    }
    numbers->items[numbers->size++] = number;
    return true;
}

/* A store with the lists of its free handles by size, which are Python's: `take` returns a handle or -1, `give` takes
 * one back; either may fail. */
typedef struct {
    ByteStore bytes; /* as large as it may become */
    size_t used;     /* bytes of it that belong to strings, free or not */
    void *free;
} Store;

static bool store_take(Store *store, size_t units, int32_t *handle);
static bool store_give(Store *store, size_t units, int32_t handle);

typedef struct {
    IndexColumns index;
    EntryColumns entry;
    SegmentColumns segment;
    Store strings, actions;
    size_t entries, entry_room;
    size_t segments, segment_room, living;
    int32_t best;
    bool reset_seen;
    int64_t game_frame;
    size_t action_bytes;
    Numbers touched, improved, locations;
    uint8_t *accepted; /* of each candidate of a record */
    size_t accepted_room;
} ArchiveUpdate;

typedef enum { UPDATED, UPDATE_FAILED, UPDATE_OUT_OF_MEMORY, UPDATE_UNSOUND } UpdateOutcome;

static UpdateOutcome store_put(Store *store, const uint8_t *string, size_t length, int32_t *handle)
{
    const size_t units = byte_store_units(length);
    if (!store_take(store, units, handle))
        return UPDATE_FAILED;
    if (*handle < 0) {
        *handle = (int32_t)(store->used / BYTE_STORE_UNIT);
        store->used += units * BYTE_STORE_UNIT;
        if (store->used > store->bytes.size || *handle < 0)
            return UPDATE_UNSOUND;
    } else if (((size_t)*handle + units) * BYTE_STORE_UNIT > store->bytes.size)
        return UPDATE_UNSOUND;
    byte_store_write(&store->bytes, (size_t)*handle, string, length);
    return UPDATED;
}

static UpdateOutcome store_discard(Store *store, int32_t handle)
{
    size_t length;
    if (byte_store_get(&store->bytes, handle, &length) == NULL)
        return UPDATE_UNSOUND;
    return store_give(store, byte_store_units(length), handle) ? UPDATED : UPDATE_FAILED;
}

static inline bool is_segment(const ArchiveUpdate *archive, int32_t segment)
{
    return segment >= 0 && (size_t)segment < archive->segments;
}

/* Undo one hold; a segment that nothing holds any more is collected, and so on up the tree. */
static UpdateOutcome segment_release(ArchiveUpdate *archive, int32_t segment)
{
    SegmentColumns *column = &archive->segment;
    if (!is_segment(archive, segment))
        return UPDATE_UNSOUND;
    column->holds[segment]--;
    while (column->holds[segment] == 0) {
        const UpdateOutcome outcome = store_discard(&archive->actions, column->handles[segment]);
        if (outcome != UPDATED)
            return outcome;
        column->handles[segment] = -1;
        archive->living--;
        segment = column->parents[segment];
        if (!is_segment(archive, segment))
            return UPDATE_UNSOUND;
        column->holds[segment]--;
    }
    return UPDATED;
}

/* Grow a segment from a branch. It holds its parent; nothing holds it yet. */
static UpdateOutcome segment_add(ArchiveUpdate *archive, int32_t parent, uint16_t offset, const uint8_t *actions,
                                 size_t size)
{
    SegmentColumns *column = &archive->segment;
    if (!is_segment(archive, parent) || archive->segments == archive->segment_room)
        return UPDATE_UNSOUND;
    int32_t handle;
    const UpdateOutcome outcome = store_put(&archive->actions, actions, size, &handle);
    if (outcome != UPDATED)
        return outcome;
    column->holds[parent]++;
    column->parents[archive->segments] = parent;
    column->offsets[archive->segments] = offset;
    column->holds[archive->segments] = 0;
    column->handles[archive->segments] = handle;
    archive->segments++;
    archive->living++;
    return UPDATED;
}

static inline bool is_result(const ArchiveUpdate *archive, size_t entry)
{
    const double score = archive->index.scores[entry];
    return score > 0 || (score < 0 && archive->entry.end[entry] != 0);
}

/* Whether an entry is better than the best one (Archive._result_rank). */
static bool is_better_result(const ArchiveUpdate *archive, size_t entry, size_t best)
{
    const IndexColumns *index = &archive->index;
    const bool mine = is_result(archive, entry), other = is_result(archive, best);
    if (mine != other)
        return mine;
    if (index->scores[entry] != index->scores[best])
        return index->scores[entry] > index->scores[best];
    if (index->lengths[entry] != index->lengths[best])
        return index->lengths[entry] < index->lengths[best];
    return entry < best;
}

/* Keep track of locations and of the best entry. */
static UpdateOutcome record_entry(ArchiveUpdate *archive, size_t entry, const RecordCandidate *candidate)
{
    if (archive->entry.event[entry] != 0)
        return UPDATED;
    const int32_t location = (int32_t)((uint32_t)(uint16_t)candidate->level << 16 | (uint16_t)candidate->room);
    const Numbers *known = &archive->locations;
    if ((known->size == 0 || known->items[known->size - 1] != location) &&
        !numbers_add(&archive->locations, location))
        return UPDATE_OUT_OF_MEMORY;
    if ((int32_t)entry != archive->best && is_better_result(archive, entry, (size_t)archive->best))
        archive->best = (int32_t)entry;
    return UPDATED;
}

static UpdateOutcome insert_entry(ArchiveUpdate *archive, const RecordVisit *visit, const uint8_t *key,
                                  const RecordCandidate *candidate, const uint8_t *snapshot, int32_t segment)
{
    const size_t entry = archive->entries;
    int32_t *slot = index_slot(&archive->index, entry, visit->low, visit->high);
    if (slot == NULL || *slot != NO_ENTRY || entry == archive->entry_room)
        return UPDATE_UNSOUND;
    EntryColumns *column = &archive->entry;
    UpdateOutcome outcome = store_put(&archive->strings, key, visit->key_size, &column->cell[entry]);
    if (outcome == UPDATED)
        outcome = store_put(&archive->strings, snapshot, candidate->snapshot_size, &column->snapshot[entry]);
    if (outcome != UPDATED)
        return outcome;
    *slot = (int32_t)entry;
    archive->entries++;
    archive->index.digests[2 * entry] = visit->low;
    archive->index.digests[2 * entry + 1] = visit->high;
    archive->index.scores[entry] = candidate->score;
    archive->index.lengths[entry] = candidate->length;
    column->segment[entry] = segment;
    column->offset[entry] = (uint16_t)candidate->offset;
    column->level[entry] = candidate->level;
    column->room[entry] = candidate->room;
    column->times_seen[entry] = column->times_chosen[entry] = column->times_chosen_since_new[entry] = 0;
    column->found_at[entry] = archive->game_frame;
    column->end[entry] = 0;
    column->event[entry] = 0;
    archive->segment.holds[segment]++;
    return record_entry(archive, entry, candidate);
}

static UpdateOutcome improve_entry(ArchiveUpdate *archive, size_t entry, const RecordCandidate *candidate,
                                   const uint8_t *snapshot, int32_t segment)
{
    EntryColumns *column = &archive->entry;
    UpdateOutcome outcome = store_discard(&archive->strings, column->snapshot[entry]);
    if (outcome == UPDATED)
        outcome = store_put(&archive->strings, snapshot, candidate->snapshot_size, &column->snapshot[entry]);
    if (outcome != UPDATED)
        return outcome;
    archive->index.scores[entry] = candidate->score;
    archive->index.lengths[entry] = candidate->length;
    archive->segment.holds[segment]++;
    outcome = segment_release(archive, column->segment[entry]);
    if (outcome != UPDATED)
        return outcome;
    column->segment[entry] = segment;
    column->offset[entry] = (uint16_t)candidate->offset;
    column->level[entry] = candidate->level;
    column->room[entry] = candidate->room;
    column->end[entry] = 0;
    column->times_chosen[entry] = column->times_chosen_since_new[entry] = 0;
    if (archive->reset_seen)
        column->times_seen[entry] = 0;
    return record_entry(archive, entry, candidate);
}

/* Return the entry of a visit, NO_ENTRY, or -2 where the index makes no sense. */
static int32_t visit_entry(const ArchiveUpdate *archive, const RecordVisit *visit)
{
    if (visit->entry != RECORD_UNKNOWN)
        return visit->entry;
    const int32_t *slot = index_slot(&archive->index, archive->entries, visit->low, visit->high);
    return slot == NULL ? -2 : *slot;
}

static bool is_accepted(const ArchiveUpdate *archive, int32_t entry, const RecordCandidate *candidate)
{
    if (entry == NO_ENTRY)
        return true;
    const double score = archive->index.scores[entry];
    return candidate->score > score || (candidate->score == score && candidate->length < archive->index.lengths[entry]);
}

/* Add the candidates of one record that are new or better; they grow from the branch that was chosen. */
static UpdateOutcome take_in(ArchiveUpdate *archive, const Record *record, int32_t start, int32_t parent,
                             uint16_t parent_offset)
{
    const uint32_t count = record->head->candidate_count;
    uint32_t used = 0, taken = 0;
    if (count > archive->accepted_room) {
        uint8_t *larger = realloc(archive->accepted, count);
        if (larger == NULL)
            return UPDATE_OUT_OF_MEMORY;
        archive->accepted = larger;
        archive->accepted_room = count;
    }
    for (uint32_t at = 0; at < count; at++) {
        const RecordCandidate *candidate = &record->candidates[at];
        const int32_t entry = visit_entry(archive, &record->visits[candidate->visit]);
        if (entry < NO_ENTRY)
            return UPDATE_UNSOUND;
        archive->accepted[at] = is_accepted(archive, entry, candidate);
        if (archive->accepted[at]) {
            taken++;
            used = candidate->offset > used ? candidate->offset : used;
        }
    }
    if (taken == 0)
        return UPDATED;
    const int32_t segment = (int32_t)archive->segments;
    UpdateOutcome outcome =
        segment_add(archive, parent, parent_offset, record->actions, (size_t)used * archive->action_bytes);
    const uint8_t *snapshot = record->snapshots, *key = record->keys;
    uint32_t key_of = 0; /* the visit whose key is at `key` */
    for (uint32_t at = 0; at < count && outcome == UPDATED; at++) {
        const RecordCandidate *candidate = &record->candidates[at];
        const RecordVisit *visit = &record->visits[candidate->visit];
        if (archive->accepted[at]) {
            int32_t entry = visit_entry(archive, visit);
            if (entry == NO_ENTRY) {
                if (candidate->visit < key_of) {
                    key = record->keys;
                    key_of = 0;
                }
                for (; key_of < candidate->visit; key_of++)
                    key += record->visits[key_of].key_size;
                entry = (int32_t)archive->entries;
                outcome = insert_entry(archive, visit, key, candidate, snapshot, segment);
            } else if (entry < 0)
                return UPDATE_UNSOUND;
            else {
                outcome = improve_entry(archive, (size_t)entry, candidate, snapshot, segment);
                if (!numbers_add(&archive->improved, entry))
                    return UPDATE_OUT_OF_MEMORY;
            }
            if (!numbers_add(&archive->touched, entry))
                return UPDATE_OUT_OF_MEMORY;
        }
        snapshot += candidate->snapshot_size;
    }
    archive->entry.times_chosen_since_new[start] = 0;
    return outcome;
}

static inline void count_up(int32_t *counter)
{
    *counter += *counter < INT32_MAX;
}

static UpdateOutcome count_visits(ArchiveUpdate *archive, const Record *record)
{
    for (uint32_t at = 0; at < record->head->visit_count; at++) {
        const int32_t entry = visit_entry(archive, &record->visits[at]);
        if (entry < 0)
            return UPDATE_UNSOUND; /* the first visit to a cell of a batch is a candidate */
        count_up(&archive->entry.times_seen[entry]);
        if (!numbers_add(&archive->touched, entry))
            return UPDATE_OUT_OF_MEMORY;
    }
    return UPDATED;
}

/* Take in what the explorations from `chosen` found, in order; the records have been checked. */
static UpdateOutcome update_archive(ArchiveUpdate *archive, const int32_t *chosen, const uint8_t *bytes, size_t size,
                                    const int64_t *offsets, size_t count)
{
    EntryColumns *column = &archive->entry;
    int32_t *parents = malloc((count + 1) * sizeof *parents);
    uint16_t *parent_offsets = malloc((count + 1) * sizeof *parent_offsets);
    UpdateOutcome outcome = parents && parent_offsets ? UPDATED : UPDATE_OUT_OF_MEMORY;
    for (size_t at = 0; at < count && outcome == UPDATED; at++) {
        const int32_t start = chosen[at];
        parents[at] = column->segment[start]; /* as it was when it was chosen */
        parent_offsets[at] = column->offset[start];
        if (!is_segment(archive, parents[at]))
            outcome = UPDATE_UNSOUND;
        else if (!numbers_add(&archive->touched, start))
            outcome = UPDATE_OUT_OF_MEMORY;
        else {
            archive->segment.holds[parents[at]]++;
            count_up(&column->times_chosen[start]);
            count_up(&column->times_chosen_since_new[start]);
        }
    }
    for (size_t at = 0; at < count && outcome == UPDATED; at++) {
        Record record;
        if (!record_read(bytes + offsets[at], size - (size_t)offsets[at], &record))
            outcome = UPDATE_UNSOUND;
        else
            outcome = take_in(archive, &record, chosen[at], parents[at], parent_offsets[at]);
        if (outcome == UPDATED)
            outcome = count_visits(archive, &record);
    }
    for (size_t at = 0; at < count && outcome == UPDATED; at++)
        outcome = segment_release(archive, parents[at]);
    free(parents);
    free(parent_offsets);
    return outcome;
}

/* What a batch can add at most. */
typedef struct {
    size_t candidates; /* for cells without an entry */
    size_t segments, string_bytes, action_bytes;
} UpdateBound;

/* Check the records of a batch, one after the other in the order of the tasks; return false where anything is wrong. */
static bool check_records(const uint8_t *bytes, size_t size, const int64_t *offsets, size_t count, size_t entries,
                          size_t action_bytes, UpdateBound *bound)
{
    *bound = (UpdateBound){0};
    for (size_t at = 0; at < count; at++) {
        Record record;
        if (offsets[at] < 0 || offsets[at] % RECORD_UNIT || (uint64_t)offsets[at] > size ||
            !record_read(bytes + offsets[at], size - (size_t)offsets[at], &record) || record.head->order != at + 1)
            return false;
        for (uint32_t visit = 0; visit < record.head->visit_count; visit++) {
            const int32_t entry = record.visits[visit].entry;
            if (entry < RECORD_UNKNOWN || (entry >= 0 && (size_t)entry >= entries))
                return false;
        }
        for (uint32_t each = 0; each < record.head->candidate_count; each++) {
            const RecordCandidate *candidate = &record.candidates[each];
            const RecordVisit *visit = &record.visits[candidate->visit];
            if (candidate->score != candidate->score || candidate->length < 0 || candidate->offset > UINT16_MAX ||
                candidate->offset * action_bytes > record.head->action_size)
                return false;
            bound->string_bytes += BYTE_STORE_UNIT * byte_store_units(candidate->snapshot_size);
            if (visit->entry == RECORD_UNKNOWN) {
                bound->candidates++;
                bound->string_bytes += BYTE_STORE_UNIT * byte_store_units(visit->key_size);
            }
        }
        if (record.head->candidate_count) {
            bound->segments++;
            bound->action_bytes += BYTE_STORE_UNIT * byte_store_units(record.head->action_size);
        }
    }
    return true;
}

static int compare_digests(const void *one, const void *other)
{
    const uint64_t *a = one, *b = other;
    return a[0] != b[0] ? (a[0] < b[0] ? -1 : 1) : a[1] != b[1] ? (a[1] < b[1] ? -1 : 1) : 0;
}

/* Count the different cells without an entry for which there are candidates, in records that have been checked: each of
 * them gets one. Return -1 where memory is short. */
static int64_t count_new_cells(const uint8_t *bytes, size_t size, const int64_t *offsets, size_t count, size_t candidates)
{
    uint64_t(*digests)[2] = malloc((candidates + 1) * sizeof *digests);
    size_t found = 0;
    if (digests == NULL)
        return -1;
    for (size_t at = 0; at < count; at++) {
        Record record;
        if (!record_read(bytes + offsets[at], size - (size_t)offsets[at], &record))
            continue;
        for (uint32_t each = 0; each < record.head->candidate_count; each++) {
            const RecordVisit *visit = &record.visits[record.candidates[each].visit];
            if (visit->entry == RECORD_UNKNOWN && found < candidates) {
                digests[found][0] = visit->low;
                digests[found++][1] = visit->high;
            }
        }
    }
    qsort(digests, found, sizeof *digests, compare_digests);
    int64_t different = found > 0;
    for (size_t at = 1; at < found; at++)
        different += compare_digests(digests[at], digests[at - 1]) != 0;
    free(digests);
    return different;
}

#endif
