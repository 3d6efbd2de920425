/* One exploration, without the interpreter: return to a cell, act from there, note what is new or better.
 *
 * The definition is PythonKernel (goexplore/exploration/_kernel.py): from the same task and score index come the same
 * results, in the same order.
 */
#ifndef GOEXPLORE_KERNEL_H
#define GOEXPLORE_KERNEL_H

#include <math.h>
#include <stdlib.h>

#include "../atari/console.h"
#include "../cells/downscale.h"
#include "../cells/frames.h"
#include "../cells/tracking.h"
#include "digest.h"
#include "random.h"

enum { UNKNOWN = -1, NO_CANDIDATE = -1, NO_LOCATION = -1 };

/* Dynamic cells are downscaled ones that keep the frame in every snapshot. */
typedef enum { CELLS_DOWNSCALED, CELLS_DYNAMIC, CELLS_MONTEZUMA, CELLS_PITFALL } CellsKind;

static inline bool are_downscaled(CellsKind kind)
{
    return kind == CELLS_DOWNSCALED || kind == CELLS_DYNAMIC;
}

/* ---- what is known ------------------------------------------------------------------------------------------------- */

typedef struct {
    double score;
    int32_t length;
} ScoreLength;

static inline bool beats(ScoreLength one, ScoreLength other)
{
    return one.score > other.score || (one.score == other.score && one.length < other.length);
}

/* The (score, length) table: the memory of goexplore.archive.ScoreIndex, which must not change meanwhile. */
typedef struct {
    const int32_t *slots;
    size_t slot_count; /* a power of two */
    const uint64_t *digests;
    const double *scores;
    const int32_t *lengths;
} ScoreIndex;

static int32_t score_index_find(const ScoreIndex *score_index, Digest cell)
{
    const size_t mask = score_index->slot_count - 1;
    for (size_t slot = cell.low & mask;; slot = (slot + 1) & mask) {
        const int32_t entry = score_index->slots[slot];
        if (entry == UNKNOWN ||
            (score_index->digests[2 * (size_t)entry] == cell.low &&
             score_index->digests[2 * (size_t)entry + 1] == cell.high))
            return entry;
    }
}

/* ---- a table of cells ---------------------------------------------------------------------------------------------- */

/* Numbers cells 0, 1, 2, ... in the order in which they are added. */
typedef struct {
    Digest *cells;
    int32_t *slots;
    size_t size, room; /* slots are twice the room */
} Table;

static void table_free(Table *table)
{
    free(table->cells);
    free(table->slots);
    memset(table, 0, sizeof *table);
}

static void table_clear(Table *table)
{
    table->size = 0;
    memset(table->slots, 0xff, 2 * table->room * sizeof *table->slots);
}

static bool table_begin(Table *table, size_t room)
{
    *table = (Table){.room = room, .cells = malloc(room * sizeof(Digest)), .slots = malloc(2 * room * sizeof(int32_t))};
    if (table->cells == NULL || table->slots == NULL) {
        table_free(table);
        return false;
    }
    table_clear(table);
    return true;
}

static int32_t *table_slot(const Table *table, Digest cell)
{
    const size_t mask = 2 * table->room - 1;
    for (size_t slot = cell.low & mask;; slot = (slot + 1) & mask) {
        const int32_t number = table->slots[slot];
        if (number < 0 || (table->cells[number].low == cell.low && table->cells[number].high == cell.high))
            return &table->slots[slot];
    }
}

/* Return the number of a cell, which is added if it is not there, or -1 where memory is short. */
static int32_t table_add(Table *table, Digest cell)
{
    int32_t *slot = table_slot(table, cell);
    if (*slot >= 0)
        return *slot;
    if (table->size == table->room) {
        Table larger;
        if (!table_begin(&larger, 2 * table->room))
            return -1;
        for (size_t number = 0; number < table->size; number++)
            table_add(&larger, table->cells[number]);
        table_free(table);
        *table = larger;
        slot = table_slot(table, cell);
    }
    table->cells[table->size] = cell;
    *slot = (int32_t)table->size;
    return (int32_t)table->size++;
}

/* ---- an exploration ------------------------------------------------------------------------------------------------ */

typedef struct {
    int32_t number; /* the cell's entry, or UNKNOWN */
    ScoreLength best;
    int32_t candidate; /* or NO_CANDIDATE */
} Visit;

typedef struct {
    int32_t visit, offset;
    ScoreLength score_length;
    int16_t level, room;
    uint32_t snapshot_size;
} Candidate;

typedef struct {
    /* Settings */
    const Game *game;
    CellsKind kind;
    uint32_t cell_width, cell_height;
    uint32_t frame_skip, limit;
    uint64_t repeat; /* probability of repeating an action, in units of 2^-32 */
    uint8_t actions[ACTIONS];
    uint32_t action_count;
    bool ends_at_life_loss;
    int32_t score_limit;               /* where the score starts again at 0, or 0 */
    int32_t room_address, level_address; /* in memory, or NO_LOCATION */
    int16_t grey[256];
    size_t max_key, max_snapshot;
    /* Where it is */
    Machine machine;
    Tracked tracked;
    Inventory inventory;
    Downscale downscaler;
    /* What it has found: numbered as in `visited` */
    Table visited;
    Visit *visits;
    uint8_t *keys;
    uint16_t *key_sizes;
    Candidate *candidates;
    uint8_t *snapshots;
    uint8_t *taken;
    size_t candidate_count, taken_count, played;
    uint8_t *sample; /* dynamic cells: the frame that was asked for, packed */
    size_t sample_size;
    /* The best of what was sent in this batch by tasks that come before */
    Table sent;
    ScoreLength *sent_best;
    size_t sent_room;
    int64_t last_order;
} Explorer;

enum { SNAPSHOT_VERSION = 2, SNAPSHOT_HEAD = 3 };

/* Bytes of the tracked state: the most of them, where it is a frame. */
static size_t tracked_size(const Explorer *explorer)
{
    switch (explorer->kind) {
    case CELLS_MONTEZUMA:
        return MONTEZUMA_STATE;
    case CELLS_PITFALL:
        return PITFALL_STATE;
    case CELLS_DYNAMIC:
        return FRAME_HEAD + SCREEN_HEIGHT * SCREEN_WIDTH;
    default:
        return 0;
    }
}

static void explorer_free(Explorer *explorer)
{
    downscale_free(&explorer->downscaler);
    table_free(&explorer->visited);
    table_free(&explorer->sent);
    free(explorer->visits);
    free(explorer->keys);
    free(explorer->key_sizes);
    free(explorer->candidates);
    free(explorer->snapshots);
    free(explorer->taken);
    free(explorer->sample);
    free(explorer->sent_best);
}

/* Reserve memory, once the settings are there; return false where it is short. */
static bool explorer_begin(Explorer *explorer, uint32_t levels)
{
    const size_t most = (size_t)explorer->limit + 1; /* the start cell, and one per training frame */
    size_t room = 16;
    while (room < most)
        room *= 2;
    explorer->max_key = are_downscaled(explorer->kind) ? (size_t)explorer->cell_width * explorer->cell_height
                                                       : (size_t)MAX_TRACKED_KEY;
    explorer->max_snapshot = SNAPSHOT_HEAD + tracked_size(explorer) + sizeof(State);
    explorer->sent_room = 1024;
    explorer->visits = malloc(most * sizeof *explorer->visits);
    explorer->keys = malloc(most * explorer->max_key);
    explorer->key_sizes = malloc(most * sizeof *explorer->key_sizes);
    explorer->candidates = malloc(most * sizeof *explorer->candidates);
    explorer->snapshots = malloc(most * explorer->max_snapshot);
    explorer->taken = malloc(most);
    explorer->sample = malloc(explorer->max_snapshot);
    explorer->sent_best = malloc(explorer->sent_room * sizeof *explorer->sent_best);
    return explorer->visits && explorer->keys && explorer->key_sizes && explorer->candidates && explorer->snapshots &&
           explorer->taken && explorer->sample && explorer->sent_best && table_begin(&explorer->visited, room) &&
           table_begin(&explorer->sent, explorer->sent_room) &&
           (!are_downscaled(explorer->kind) ||
            downscale_begin(&explorer->downscaler, SCREEN_HEIGHT, SCREEN_WIDTH, explorer->cell_width,
                            explorer->cell_height, levels));
}

static bool explorer_restore(Explorer *explorer, const uint8_t *snapshot, size_t size)
{
    if (size < SNAPSHOT_HEAD + sizeof(State) || snapshot[0] != SNAPSHOT_VERSION)
        return false;
    const size_t tracked = (size_t)(snapshot[1] | snapshot[2] << 8);
    if (size != SNAPSHOT_HEAD + tracked + sizeof(State) ||
        (explorer->kind == CELLS_DYNAMIC ? tracked <= FRAME_HEAD : tracked != tracked_size(explorer)))
        return false; /* a frame is kept for other cells, later: this exploration does not need it */
    snapshot += SNAPSHOT_HEAD;
    if (explorer->kind == CELLS_MONTEZUMA && !load_montezuma(&explorer->tracked, snapshot))
        return false;
    if (explorer->kind == CELLS_PITFALL && !load_pitfall(&explorer->tracked, snapshot))
        return false;
    return restore_state(&explorer->machine, snapshot + tracked, sizeof(State));
}

/* Write a snapshot and return its size. */
static size_t explorer_snapshot(const Explorer *explorer, uint8_t *snapshot)
{
    size_t tracked = tracked_size(explorer);
    if (explorer->kind == CELLS_DYNAMIC)
        tracked = pack_frame(explorer->machine.screen[0], SCREEN_HEIGHT, SCREEN_WIDTH, explorer->grey,
                             snapshot + SNAPSHOT_HEAD);
    snapshot[0] = SNAPSHOT_VERSION;
    snapshot[1] = (uint8_t)tracked;
    snapshot[2] = (uint8_t)(tracked >> 8);
    if (explorer->kind == CELLS_MONTEZUMA)
        store_montezuma(&explorer->tracked, snapshot + SNAPSHOT_HEAD);
    if (explorer->kind == CELLS_PITFALL)
        store_pitfall(&explorer->tracked, snapshot + SNAPSHOT_HEAD);
    memcpy(snapshot + SNAPSHOT_HEAD + tracked, &explorer->machine.state, sizeof(State));
    return SNAPSHOT_HEAD + tracked + sizeof(State);
}

/* Compute the cell of the screen; return its size, or 0 where the pixels show a death. */
static size_t cell_key(Explorer *explorer, uint8_t *key)
{
    switch (explorer->kind) {
    case CELLS_MONTEZUMA:
        if (!track_montezuma(&explorer->tracked, &explorer->inventory, &explorer->machine))
            return 0;
        return montezuma_key(&explorer->tracked, explorer->cell_width, explorer->cell_height, key);
    case CELLS_PITFALL:
        track_pitfall(&explorer->tracked, &explorer->machine);
        return pitfall_key(&explorer->tracked, explorer->cell_width, explorer->cell_height, key);
    default:
        downscale(&explorer->downscaler, explorer->machine.screen[0], explorer->grey, key);
        return explorer->max_key;
    }
}

static void record_location(const Explorer *explorer, Candidate *candidate)
{
    if (are_downscaled(explorer->kind)) {
        const uint8_t *ram = explorer->machine.state.ram;
        const bool mapped = explorer->room_address >= 0;
        candidate->room = mapped ? ram[explorer->room_address] : NO_LOCATION;
        candidate->level = !mapped ? NO_LOCATION : explorer->level_address < 0 ? 0 : ram[explorer->level_address];
    } else {
        candidate->room = explorer->tracked.room;
        candidate->level = (int16_t)explorer->tracked.level;
    }
}

/* Remember a candidate for later tasks of the batch; short memory only costs candidates that are of no use. */
static void remember(Explorer *explorer, Digest cell, ScoreLength score_length)
{
    if (explorer->sent.size == explorer->sent_room) {
        void *larger = realloc(explorer->sent_best, 2 * explorer->sent_room * sizeof(ScoreLength));
        if (larger == NULL)
            return;
        explorer->sent_best = larger;
        explorer->sent_room *= 2;
    }
    int32_t number = table_add(&explorer->sent, cell);
    if (number >= 0)
        explorer->sent_best[number] = score_length;
}

typedef struct {
    int64_t order;
    uint64_t stream;
    const uint8_t *snapshot, *cell;
    size_t snapshot_size, cell_size;
    int32_t number;
    ScoreLength score_length;
    uint32_t sampled; /* dynamic cells: the training frame whose frame is wanted, from 1; 0 for none */
} Task;

typedef enum { EXPLORED, BAD_SNAPSHOT, OUT_OF_MEMORY } Outcome;

static Visit *first_visit(Explorer *explorer, Digest cell, const uint8_t *key, size_t size)
{
    const int32_t index = table_add(&explorer->visited, cell);
    if (index < 0)
        return NULL;
    memcpy(explorer->keys + (size_t)index * explorer->max_key, key, size);
    explorer->key_sizes[index] = (uint16_t)size;
    explorer->visits[index].candidate = NO_CANDIDATE;
    return &explorer->visits[index];
}

static Outcome explore(Explorer *explorer, const Task *task, const ScoreIndex *score_index)
{
    if (task->order <= explorer->last_order)
        table_clear(&explorer->sent); /* it was for tasks that come after this one, or for another batch */
    explorer->last_order = task->order;
    table_clear(&explorer->visited);
    explorer->candidate_count = explorer->taken_count = explorer->played = explorer->sample_size = 0;
    if (task->cell_size > explorer->max_key || !explorer_restore(explorer, task->snapshot, task->snapshot_size))
        return BAD_SNAPSHOT;
    Visit *here = first_visit(explorer, digest(task->cell, task->cell_size), task->cell, task->cell_size);
    if (here == NULL)
        return OUT_OF_MEMORY;
    here->number = task->number;
    here->best = task->score_length;
    ScoreLength score_length = task->score_length;
    State *state = &explorer->machine.state;
    uint64_t stream = task->stream;
    uint32_t action = draw_below(&stream, explorer->action_count);
    uint8_t key[explorer->max_key];
    while (true) {
        const uint8_t lives = state->lives;
        int32_t reward = play(&explorer->machine, explorer->game, explorer->actions[action], explorer->frame_skip);
        explorer->played++;
        if (explorer->machine.fault)
            break; /* as far as the engine can tell, the game ends here */
        if (explorer->score_limit && reward < -(explorer->score_limit / 2))
            reward += explorer->score_limit; /* the counter rolled over; the points were still won */
        if (state->over || (explorer->ends_at_life_loss && state->lives < lives))
            break;
        const size_t size = cell_key(explorer, key);
        if (size == 0)
            break; /* the action that ended the episode has no destination cell */
        if (explorer->played == task->sampled && explorer->kind == CELLS_DYNAMIC)
            explorer->sample_size = pack_frame(explorer->machine.screen[0], SCREEN_HEIGHT, SCREEN_WIDTH, explorer->grey,
                                               explorer->sample);
        explorer->taken[explorer->taken_count++] = (uint8_t)action;
        score_length.score += reward;
        score_length.length++;
        const size_t index = (size_t)(here - explorer->visits);
        if (explorer->key_sizes[index] != size || memcmp(explorer->keys + index * explorer->max_key, key, size) != 0) {
            const Digest cell = digest(key, size);
            const size_t before = explorer->visited.size;
            const int32_t slot = *table_slot(&explorer->visited, cell);
            here = slot >= 0 ? &explorer->visits[slot] : first_visit(explorer, cell, key, size);
            if (here == NULL)
                return OUT_OF_MEMORY;
            if (explorer->visited.size > before) {
                const int32_t sent = *table_slot(&explorer->sent, cell);
                here->number = score_index_find(score_index, cell);
                here->best = sent >= 0 ? explorer->sent_best[sent]
                             : here->number != UNKNOWN
                                 ? (ScoreLength){score_index->scores[here->number], score_index->lengths[here->number]}
                                 : (ScoreLength){-INFINITY, 0};
            }
        }
        if (beats(score_length, here->best)) {
            const int32_t visit = (int32_t)(here - explorer->visits);
            if (here->candidate == NO_CANDIDATE)
                here->candidate = (int32_t)explorer->candidate_count++;
            Candidate *candidate = &explorer->candidates[here->candidate];
            candidate->visit = visit;
            candidate->offset = (int32_t)explorer->taken_count;
            candidate->score_length = here->best = score_length;
            record_location(explorer, candidate);
            candidate->snapshot_size = (uint32_t)explorer_snapshot(
                explorer, explorer->snapshots + (size_t)here->candidate * explorer->max_snapshot);
            remember(explorer, explorer->visited.cells[visit], score_length);
        }
        if (explorer->played == explorer->limit)
            break;
        if (draw_word(&stream) >> 32 >= explorer->repeat)
            action = draw_below(&stream, explorer->action_count);
    }
    return EXPLORED;
}

#endif
