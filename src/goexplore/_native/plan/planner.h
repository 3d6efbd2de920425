/* Plans tried out in the stochastic game, without the interpreter and without drawing.
 *
 * The definition is PythonSimulator (goexplore/planning/_simulator.py): from the same situation, plans and streams come
 * the same judgements.
 */
#ifndef GOEXPLORE_PLANNER_H
#define GOEXPLORE_PLANNER_H

#include <stdlib.h>

#include "../atari/console.h"
#include "../explore/random.h"

/* How far around the last place the next one is looked for first, and how near is near enough: in bytes of memory. */
enum { BACK = 5, AHEAD = 14, NEAR_ENOUGH = 10, LOST = 14, PATIENCE = 14, LEAP = 40, OTHER_POSTURE = 9, KINDS = 32, NOWHERE_NEAR = 1 << 30 };

/* One training frame of a demonstration; the columns of Reference.rows. */
typedef struct {
    int32_t level, room, x, y, airborne;
    int32_t stage;         /* gains since the level began */
    int32_t action;        /* -1 after the last one */
    int32_t progress;      /* counted so that all demonstrations end with the same */
    int32_t stretch;       /* the number of its level of its demonstration */
} Row;

/* Gains that count as the same; the columns of Reference.kinds. */
typedef struct {
    int32_t level, room; /* -1: any room */
    int32_t least;       /* points */
    int32_t number;      /* among those of the level */
} Kind;

/* A level of a demonstration. */
typedef struct {
    int32_t first, last;            /* rows */
    int32_t end;                    /* the last row of the whole demonstration */
    int32_t first_gain, gain_count; /* the kind of each gain */
} Stretch;

typedef struct {
    uint32_t delay, stop; /* wait so long, and no more than so long after that is anything done */
    const uint8_t *sequence;
    uint32_t length;
} Plan;

typedef struct {
    int32_t row, stall; /* where in the reference, and for how many training frames there */
    int32_t score;
    uint8_t won[KINDS]; /* how many gains of each kind since the level began */
    int32_t room, x;    /* where it was seen last */
} Tracker;

typedef struct {
    uint32_t alive;
    double gain;
} Judgement;

typedef struct {
    const Game *game;
    uint32_t frame_skip, no_op;
    uint64_t repeat; /* probability of repeating the last action, in units of 2^-32 */
    uint8_t actions[ACTIONS];
    uint32_t action_count;
    int32_t level_address, room_address, x_address, y_address; /* -1 where there is none */
    uint8_t (*grounded)[2];                                    /* bytes and their values while standing */
    uint32_t grounded_count;
    int32_t deficit;
    Row *rows;
    uint32_t row_count;
    int32_t *gains;
    uint32_t gain_count;
    int32_t first_score; /* some games begin with points */
    Kind *kinds;         /* those of a level one after the other, the smallest first */
    uint32_t kind_count;
    Stretch *stretches;
    uint32_t stretch_count;
    int32_t *by_room;     /* rows, those of a room one after the other */
    int32_t room_ends[257];
    int32_t goal; /* the progress with which demonstrations end */
    uint64_t played; /* training frames */
    Machine machine;
} Planner;

static void planner_free(Planner *planner)
{
    free(planner->grounded);
    free(planner->rows);
    free(planner->gains);
    free(planner->kinds);
    free(planner->stretches);
    free(planner->by_room);
}

/* Order the rows by room once all are there; return false where memory is short. */
static bool planner_begin(Planner *planner)
{
    planner->by_room = malloc((planner->row_count + 1) * sizeof *planner->by_room);
    if (planner->by_room == NULL)
        return false;
    int32_t count = 0;
    for (int32_t room = 0; room < 256; room++) {
        planner->room_ends[room] = count;
        for (uint32_t row = 0; row < planner->row_count; row++)
            if ((planner->rows[row].room & 255) == room)
                planner->by_room[count++] = (int32_t)row;
    }
    planner->room_ends[256] = count;
    for (uint32_t row = 0; row < planner->row_count; row++)
        if (planner->rows[row].progress > planner->goal)
            planner->goal = planner->rows[row].progress;
    return true;
}

static inline int32_t byte_at(const State *state, int32_t address)
{
    return address < 0 ? 0 : state->ram[address];
}

static Row place_of(const Planner *planner, const State *state)
{
    Row here = {.level = byte_at(state, planner->level_address),
                .room = byte_at(state, planner->room_address),
                .x = byte_at(state, planner->x_address),
                .y = byte_at(state, planner->y_address)};
    for (uint32_t at = 0; at < planner->grounded_count; at++)
        here.airborne |= state->ram[planner->grounded[at][0]] != planner->grounded[at][1];
    return here;
}

/* Take note of a reward: it is of the largest kind that it is worth, of those that are won there. */
static void win(const Planner *planner, int32_t reward, const Row *here, uint8_t won[KINDS])
{
    int32_t found = -1;
    for (uint32_t at = 0; reward > 0 && at < planner->kind_count; at++) {
        const Kind *kind = &planner->kinds[at];
        if (kind->level == here->level && (kind->room < 0 || kind->room == here->room) &&
            kind->least <= (int64_t)reward + planner->deficit)
            found = kind->number;
    }
    if (found >= 0 && won[found] < UINT8_MAX)
        won[found]++;
}

/* How many gains of a stretch, from its first on, are among those that were won. */
static int32_t stage_of(const Planner *planner, const Stretch *stretch, const uint8_t won[KINDS])
{
    uint8_t left[KINDS];
    memcpy(left, won, sizeof left);
    for (int32_t stage = 0; stage < stretch->gain_count; stage++)
        if (left[planner->gains[stretch->first_gain + stage]]-- == 0)
            return stage;
    return stretch->gain_count;
}

static inline int32_t distance(const Row *row, const Row *here, int32_t stage)
{
    if (row->room != here->room || row->level != here->level || row->stage != stage)
        return NOWHERE_NEAR;
    return abs(row->x - here->x) + abs(row->y - here->y) + (row->airborne != here->airborne ? OTHER_POSTURE : 0);
}

/* The row with which a demonstration begins a later level; the same row if it never does. */
static int32_t row_of_level(const Planner *planner, int32_t level, int32_t row)
{
    const int32_t end = planner->stretches[planner->rows[row].stretch].end;
    for (uint32_t at = 0; at < planner->stretch_count; at++) {
        const Stretch *stretch = &planner->stretches[at];
        if (stretch->end == end && planner->rows[stretch->first].level == level)
            return stretch->first;
    }
    return row;
}

/* Where in the reference the game is after one more training frame. */
static Tracker follow(const Planner *planner, const State *state, Tracker before)
{
    const Row here = place_of(planner, state);
    const int32_t score = state->score - planner->first_score;
    const int32_t earlier = before.row;
    if (here.level > planner->rows[earlier].level)
        before = (Tracker){.row = row_of_level(planner, here.level, before.row), .room = before.room, .x = before.x};
    else
        win(planner, score - before.score, &here, before.won);
    before.score = score;
    /* Room and position do not change in the same frame: the position may be that in another room. */
    const bool in_doubt = here.room != before.room || abs(here.x - before.x) > LEAP;
    before.room = here.room, before.x = here.x;
    if (in_doubt)
        return before;
    const Stretch *stretch = &planner->stretches[planner->rows[before.row].stretch];
    int32_t stage = stage_of(planner, stretch, before.won);
    int32_t nearest = NOWHERE_NEAR - 1, found = -1;
    const int32_t from = before.row - BACK < stretch->first ? stretch->first : before.row - BACK;
    const int32_t to = before.row + AHEAD > stretch->last ? stretch->last : before.row + AHEAD;
    for (int32_t row = from; row <= to; row++) {
        const int32_t far = distance(&planner->rows[row], &here, stage);
        if (far <= nearest)
            nearest = far, found = row;
    }
    if (found < 0 || nearest > NEAR_ENOUGH) {
        int32_t current = -1;
        for (int32_t at = planner->room_ends[here.room & 255]; at < planner->room_ends[(here.room & 255) + 1]; at++) {
            const Row *row = &planner->rows[planner->by_room[at]];
            if (row->stretch != current) {
                current = row->stretch;
                stage = stage_of(planner, &planner->stretches[current], before.won);
            }
            const int32_t far = distance(row, &here, stage);
            if (far <= nearest)
                nearest = far, found = planner->by_room[at];
        }
    }
    if (found < 0 || nearest > LOST || found == earlier)
        before.stall = before.stall < PATIENCE ? before.stall + 1 : 0;
    else
        before.row = found, before.stall = 0;
    return before;
}

static uint32_t action_at(const Planner *planner, Tracker tracker)
{
    const int32_t last = planner->stretches[planner->rows[tracker.row].stretch].end - 1;
    const int32_t row = tracker.row + tracker.stall;
    return (uint32_t)planner->rows[row < last ? row : last].action;
}

/* One training frame with sticky actions; return the action that would stick next. */
static uint32_t play_sticky(Planner *planner, uint32_t action, uint32_t last, uint64_t *stream)
{
    Machine *machine = &planner->machine;
    for (uint32_t frame = 0; frame < planner->frame_skip; frame++) {
        const bool sticks = draw_word(stream) >> 32 < planner->repeat;
        if (!sticks)
            last = action;
        if (!machine->state.over && !machine->fault) {
            play_frame(machine, planner->actions[last], false, false);
            look(&machine->state, planner->game);
        }
    }
    planner->played++;
    return last;
}

/* Try a plan once. A life that is lost counts more than any progress; early progress counts more than late progress. */
static void try_plan(Planner *planner, const State *from, uint32_t last, Tracker tracker, const Plan *plan,
                     uint64_t stream, uint32_t horizon, int32_t ceiling, Judgement *judgement)
{
    Machine *machine = &planner->machine;
    restore_state(machine, from, sizeof *from);
    uint8_t lives = machine->state.lives;
    const int32_t begin = planner->rows[tracker.row].progress;
    int32_t best = begin;
    int64_t area = 0;
    for (uint32_t step = 0; step < horizon + plan->delay; step++) { /* waiting must not hide what comes after it */
        const uint32_t acted = step - plan->delay;
        uint32_t action = planner->no_op;
        if (step >= plan->delay && acted < plan->stop)
            action = acted < plan->length ? plan->sequence[acted] : action_at(planner, tracker);
        last = play_sticky(planner, action, last, &stream);
        if (machine->state.lives < lives)
            return;
        lives = machine->state.lives; /* perhaps one more: it must not make up for one that is lost later */
        tracker = follow(planner, &machine->state, tracker);
        if (planner->rows[tracker.row].progress > best)
            best = planner->rows[tracker.row].progress;
        if ((machine->state.over || machine->fault) && best < planner->goal)
            return;
        const int32_t gained = best - begin < ceiling ? best - begin : ceiling;
        if (step < horizon)
            area += gained;
        if (best >= planner->goal) {
            if (step < horizon)
                area += (int64_t)(horizon - 1 - step) * gained;
            break;
        }
    }
    judgement->alive++;
    judgement->gain += (double)area / horizon;
}

#endif
