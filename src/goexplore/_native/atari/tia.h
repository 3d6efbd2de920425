/* TIA: five movable objects and a playfield, drawn while the beam runs, and the collisions between them.
 *
 * A line of an object is a mask of 160 bits. Nothing is done per pixel until it must be: a write that changes an object
 * first settles everything up to that moment, then marks the object's mask as out of date. Two things are settled:
 *
 * - pixels, in frames that are to be seen
 * - collisions, in all frames, but only if the changing object could collide with something present, in a pair that
 *   the game reads and that has not collided already. (Pairs without the changing object lose nothing by waiting.)
 *
 * Each goes its own way, so that what collides does not depend on what is drawn.
 */
#ifndef GOEXPLORE_TIA_H
#define GOEXPLORE_TIA_H

#include "machine.h"

enum {
    VSYNC, VBLANK, WSYNC, RSYNC, NUSIZ0, NUSIZ1, COLUP0, COLUP1, COLUPF, COLUBK, CTRLPF, REFP0, REFP1, PF0, PF1, PF2,
    RESP0, RESP1, RESM0, RESM1, RESBL, AUDC0, AUDC1, AUDF0, AUDF1, AUDV0, AUDV1, GRP0, GRP1, ENAM0, ENAM1, ENABL,
    HMP0, HMP1, HMM0, HMM1, HMBL, VDELP0, VDELP1, VDELBL, RESMP0, RESMP1, HMOVE, HMCLR, CXCLR
};

enum { P0, P1, M0, M1, BL, PF, OBJECTS };
#define SET(object) (1u << (object))
enum { ALL_OBJECTS = (1 << OBJECTS) - 1 };

enum { BLANKING = 2 }; /* the bit of VBLANK */

/* Bits of `State.pending`. A player that was just placed does not show its first copy until the end of the line, and
 * mirroring that changes while the beam is in the right half of the playfield waits for the end of the line: the bits of
 * these objects. HMOVE blanks the first pixels of the next line that is drawn. */
enum { PENDING_BLANK = 1 << OBJECTS, PENDING_OBJECTS = 1 << P0 | 1 << P1 | 1 << PF };

/* ---- collisions ---------------------------------------------------------------------------------------------------- */

/* The pairs in the order of the registers that tell of them: CXM0P has the first two in its bits 7 and 6, and so on;
 * CXBLPF has one. */
enum { PAIRS = 15 };
static const uint8_t PAIR_FIRST[PAIRS] = {M0, M0, M1, M1, P0, P0, P1, P1, M0, M0, M1, M1, BL, P0, M0};
static const uint8_t PAIR_SECOND[PAIRS] = {P1, P0, P0, P1, PF, BL, PF, BL, PF, BL, PF, BL, PF, P1, M1};
enum { ALL_PAIRS = (1 << PAIRS) - 1 };

enum { CXM0P, CXM1P, CXP0FB, CXP1FB, CXM0FB, CXM1FB, CXBLPF, CXPPMM };
#define FIRST_PAIR(number) ((number) == CXPPMM ? 13 : 2 * (number))
#define PAIRS_READ(number) (((number) == CXBLPF ? 1 : 3) << FIRST_PAIR(number))

static void watch_pairs(uint8_t watch[OBJECTS], uint32_t pairs)
{
    memset(watch, 0, OBJECTS);
    for (uint32_t pair = 0; pair < PAIRS; pair++)
        if (pairs >> pair & 1) {
            watch[PAIR_FIRST[pair]] |= (uint8_t)SET(PAIR_SECOND[pair]);
            watch[PAIR_SECOND[pair]] |= (uint8_t)SET(PAIR_FIRST[pair]);
        }
}

/* ---- masks --------------------------------------------------------------------------------------------------------- */

static uint8_t REVERSED[256];        /* the bits in reverse order */
static uint16_t DOUBLED[256];        /* each bit twice */
static uint32_t QUADRUPLED[256];     /* each bit four times */
static uint64_t AS_BYTES[256];       /* each bit as a byte of ones, in the order of memory */
static uint16_t PAIRS_AMONG[1 << OBJECTS]; /* the pairs that can collide where a set of objects is present */
static uint64_t COLUMNS_BELOW[SCREEN_WIDTH + 1][3]; /* the first columns of a line, as a mask */

static UNUSED void make_tia_tables(void)
{
    for (uint32_t bits = 0; bits < 256; bits++) {
        uint8_t bytes[8];
        REVERSED[bits] = 0;
        DOUBLED[bits] = 0;
        QUADRUPLED[bits] = 0;
        for (uint32_t bit = 0; bit < 8; bit++) {
            uint32_t set = bits >> bit & 1;
            REVERSED[bits] |= (uint8_t)(set << (7 - bit));
            DOUBLED[bits] |= (uint16_t)(3 * set << 2 * bit);
            QUADRUPLED[bits] |= 15 * set << 4 * bit;
            bytes[bit] = set ? 0xff : 0;
        }
        memcpy(&AS_BYTES[bits], bytes, 8);
    }
    for (uint32_t present = 0; present < 1 << OBJECTS; present++) {
        PAIRS_AMONG[present] = 0;
        for (uint32_t pair = 0; pair < PAIRS; pair++)
            if (present >> PAIR_FIRST[pair] & present >> PAIR_SECOND[pair] & 1)
                PAIRS_AMONG[present] |= (uint16_t)(1 << pair);
    }
    for (int32_t column = 0; column <= SCREEN_WIDTH; column++)
        for (int32_t word = 0; word < 3; word++) {
            int32_t count = column - 64 * word;
            COLUMNS_BELOW[column][word] = count <= 0 ? 0 : count >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << count) - 1;
        }
}

static inline uint32_t lowest_bit(uint64_t bits)
{
#if defined(__GNUC__)
    return (uint32_t)__builtin_ctzll(bits);
#else
    uint32_t bit = 0;
    for (; !(bits & 1); bits >>= 1)
        bit++;
    return bit;
#endif
}

/* Put up to 32 pixels at a position below 320; what passes the right edge wraps around. */
static ALWAYS_INLINE void put(Mask *mask, uint64_t pixels, uint32_t position)
{
    if (position >= SCREEN_WIDTH)
        position -= SCREEN_WIDTH;
    uint32_t word = position >> 6, bit = position & 63;
    uint64_t spill = pixels >> 1 >> (63 - bit);
    mask->word[word] |= pixels << bit;
    if (word < 2)
        mask->word[word + 1] |= spill;
    mask->word[0] |= mask->word[2] >> 32;
    mask->word[2] &= 0xffffffff;
}

/* NUSIZ: one to three copies, close, medium or wide apart: where the second and the third are, or 0. */
static const uint8_t SECOND_COPY[8] = {0, 16, 32, 16, 64, 0, 32, 0}, THIRD_COPY[8] = {0, 0, 0, 32, 0, 0, 64, 0};

static ALWAYS_INLINE void put_copies(Mask *mask, uint64_t pixels, uint32_t position, uint32_t nusiz, bool first)
{
    *mask = (Mask){{0, 0, 0}};
    if (first)
        put(mask, pixels, position);
    if (SECOND_COPY[nusiz & 7])
        put(mask, pixels, position + SECOND_COPY[nusiz & 7]);
    if (THIRD_COPY[nusiz & 7])
        put(mask, pixels, position + THIRD_COPY[nusiz & 7]);
}

static inline void put_player(Mask *mask, const Machine *machine, uint32_t player)
{
    const State *state = &machine->state;
    const uint32_t nusiz = state->registers[NUSIZ0 + player];
    uint32_t pattern = machine->shown[player], position = state->position[P0 + player];
    if (!(state->registers[REFP0 + player] & 8))
        pattern = REVERSED[pattern]; /* the highest bit is the leftmost pixel */
    if ((nusiz & 5) == 5) { /* pixels of double and fourfold width come one clock later */
        pattern = nusiz & 2 ? QUADRUPLED[pattern] : DOUBLED[pattern];
        position++;
    }
    put_copies(mask, pattern, position, nusiz, !(state->pending & SET(P0 + player)));
}

static inline bool is_mirrored(const State *state)
{
    return (state->registers[CTRLPF] & 1) != (state->pending >> PF & 1);
}

static inline Mask playfield_mask(const Machine *machine)
{
    const uint8_t *registers = machine->state.registers;
    /* Twenty pixels, each four wide: 80 bits for the left half. */
    uint32_t first = registers[PF0] >> 4, second = REVERSED[registers[PF1]], third = registers[PF2];
    uint64_t low = QUADRUPLED[first] | (uint64_t)QUADRUPLED[second] << 16 | (uint64_t)QUADRUPLED[third] << 48;
    uint64_t high = QUADRUPLED[third] >> 16;
    uint64_t right_low = low, right_high = high;
    if (is_mirrored(&machine->state)) {
        first = REVERSED[registers[PF2]], second = registers[PF1], third = REVERSED[registers[PF0] >> 4];
        right_low = QUADRUPLED[first] | (uint64_t)QUADRUPLED[second] << 32;
        right_high = QUADRUPLED[third] >> 16;
    }
    return (Mask){{low, high | right_low << 16, right_low >> 48 | right_high << 16}};
}

static NEVER_INLINE void build_mask(Machine *machine, uint32_t object)
{
    const State *state = &machine->state;
    Mask *mask = &machine->masks[object];
    if (!(machine->present & SET(object)))
        *mask = (Mask){{0, 0, 0}};
    else if (object <= P1)
        put_player(mask, machine, object - P0);
    else if (object == PF)
        *mask = playfield_mask(machine);
    else { /* a missile has as many copies as its player */
        const uint32_t nusiz = object == BL ? 0 : state->registers[NUSIZ0 + object - M0];
        const uint32_t size = (object == BL ? state->registers[CTRLPF] : nusiz) >> 4 & 3;
        put_copies(mask, (1u << (1u << size)) - 1, state->position[object], nusiz, true);
    }
}

/* Bring the masks of some objects up to date. */
static inline void build_masks(Machine *machine, uint32_t objects)
{
    for (uint32_t dirty = machine->dirty & objects; dirty; dirty &= dirty - 1)
        build_mask(machine, lowest_bit(dirty));
    machine->dirty &= (uint8_t)~objects;
}

/* ---- presence ------------------------------------------------------------------------------------------------------ */

static ALWAYS_INLINE bool is_present(const Machine *machine, uint32_t object)
{
    const uint8_t *registers = machine->state.registers;
    switch (object) {
    case P0:
    case P1:
        return machine->shown[object - P0] != 0;
    case M0:
    case M1:
        return (registers[ENAM0 + object - M0] & ~registers[RESMP0 + object - M0] & 2) != 0;
    case BL:
        return ((registers[VDELBL] & 1 ? machine->state.old_ball : registers[ENABL]) & 2) != 0;
    default:
        return ((registers[PF0] & 0xf0) | registers[PF1] | registers[PF2]) != 0;
    }
}

/* An object is different from now on. */
static ALWAYS_INLINE void changed(Machine *machine, uint32_t object)
{
    machine->dirty |= (uint8_t)SET(object);
    machine->present = (uint8_t)((machine->present & ~SET(object)) | (uint32_t)is_present(machine, object) << object);
}

static inline uint8_t pattern_shown(const State *state, uint32_t player)
{
    return state->registers[VDELP0 + player] & 1 ? state->old_pattern[player] : state->registers[GRP0 + player];
}

/* Note which objects HMOVE would move. */
static inline void note_motion(Machine *machine)
{
    machine->moving = 0;
    for (uint32_t object = P0; object <= BL; object++)
        machine->moving |= (uint8_t)((machine->state.registers[HMP0 + object] >> 4 != 0) << object);
}

/* The pairs that the game reads, that have not collided yet and of which both objects are present. */
static inline uint32_t open_pairs(const Machine *machine)
{
    return PAIRS_AMONG[machine->present] & machine->wanted & ~(uint32_t)machine->state.collisions;
}

/* Bring everything that is computed from the state up to date with it. */
static UNUSED void refresh_tia(Machine *machine)
{
    for (uint32_t player = 0; player < 2; player++)
        machine->shown[player] = pattern_shown(&machine->state, player);
    for (uint32_t object = 0; object < OBJECTS; object++)
        changed(machine, object);
    note_motion(machine);
    watch_pairs(machine->all_watch, machine->wanted);
    watch_pairs(machine->watch, machine->wanted & ~(uint32_t)machine->state.collisions);
}

/* ---- settling ------------------------------------------------------------------------------------------------------ */

/* Note collisions in the columns from `left` up to `right` of a line. */
static NEVER_INLINE void collide(Machine *machine, int32_t left, int32_t right)
{
    if (left >= right)
        return;
    uint64_t columns[3];
    for (int32_t word = 0; word < 3; word++)
        columns[word] = COLUMNS_BELOW[right][word] & ~COLUMNS_BELOW[left][word];
    uint32_t news = 0;
    for (uint32_t open = open_pairs(machine); open; open &= open - 1) {
        const uint32_t pair = lowest_bit(open);
        build_masks(machine, SET(PAIR_FIRST[pair]) | SET(PAIR_SECOND[pair]));
        const Mask *one = &machine->masks[PAIR_FIRST[pair]], *other = &machine->masks[PAIR_SECOND[pair]];
        if ((one->word[0] & other->word[0] & columns[0]) | (one->word[1] & other->word[1] & columns[1]) |
            (one->word[2] & other->word[2] & columns[2]))
            news |= 1u << pair;
    }
    if (news) {
        machine->state.collisions |= (uint16_t)news;
        watch_pairs(machine->watch, machine->wanted & ~(uint32_t)machine->state.collisions);
    }
}

/* Whether it matters for collisions that these objects change. */
static inline bool collidable(const Machine *machine, uint32_t objects)
{
    for (; objects; objects &= objects - 1)
        if (machine->watch[lowest_bit(objects)] & machine->present)
            return true;
    return false;
}

/* Give the pixels of a mask a colour, eight pixels at a time. */
static ALWAYS_INLINE void paint(uint8_t *pixels, uint64_t mask, uint64_t colour)
{
    if (mask == 0)
        return;
    const uint32_t empty = lowest_bit(mask) & ~7u;
    for (mask >>= empty, pixels += empty; mask; mask >>= 8, pixels += 8) {
        uint64_t eight;
        memcpy(&eight, pixels, 8);
        eight ^= (eight ^ colour) & AS_BYTES[mask & 0xff];
        memcpy(pixels, &eight, 8);
    }
}

enum { HMOVE_BLANK_COLUMNS = 8 };

/* HMOVE makes the horizontal blank longer. */
static inline void blank_after_hmove(Machine *machine, uint8_t *pixels, int32_t left, int32_t right)
{
    if (!(machine->state.pending & PENDING_BLANK) || left >= HMOVE_BLANK_COLUMNS)
        return;
    memset(pixels + left, 0, (size_t)((right < HMOVE_BLANK_COLUMNS ? right : HMOVE_BLANK_COLUMNS) - left));
    if (right >= HMOVE_BLANK_COLUMNS)
        machine->state.pending &= (uint8_t)~PENDING_BLANK;
}

/* Draw the columns from `left` up to `right` of a row: the background, then what lies on it. */
static inline void draw(Machine *machine, int32_t row, int32_t left, int32_t right)
{
    static const uint64_t left_half[3] = {~UINT64_C(0), 0xffff, 0};
    const uint8_t *registers = machine->state.registers;
    uint8_t *pixels = machine->screen[row];
    if (registers[VBLANK] & BLANKING) {
        memset(pixels + left, 0, (size_t)(right - left));
        blank_after_hmove(machine, pixels, left, right);
        return;
    }
    memset(pixels + left, registers[COLUBK], (size_t)(right - left));
    build_masks(machine, ALL_OBJECTS);
    const Mask *masks = machine->masks;
    /* With priority, the playfield and the ball lie above the players. In score mode, each half of the playfield is a part
     * of its player, but not with priority, unless there is nothing but the playfield. */
    const bool priority = registers[CTRLPF] & 4 && machine->present != SET(PF), score = registers[CTRLPF] & 2 && !priority;
    const uint64_t every = UINT64_C(0x0101010101010101);
    for (int32_t word = left >> 6; word <= (right - 1) >> 6; word++) {
        const uint64_t columns = COLUMNS_BELOW[right][word] & ~COLUMNS_BELOW[left][word];
        const uint64_t playfield = masks[PF].word[word];
        uint64_t first = masks[P0].word[word] | masks[M0].word[word];
        uint64_t second = masks[P1].word[word] | masks[M1].word[word];
        uint64_t field = masks[BL].word[word];
        if (score) {
            first |= playfield & left_half[word];
            second |= playfield & ~left_half[word];
        } else
            field |= playfield;
        if (priority) {
            first &= ~field;
            second &= ~field;
        } else
            field &= ~(first | second);
        paint(pixels + 64 * word, field & columns, every * registers[COLUPF]);
        paint(pixels + 64 * word, second & ~first & columns, every * registers[COLUP1]);
        paint(pixels + 64 * word, first & columns, every * registers[COLUP0]);
    }
    blank_after_hmove(machine, pixels, left, right);
}

enum { FIRST_CLOCK = FIRST_LINE * LINE_CLOCKS, LAST_CLOCK = (FIRST_LINE + SCREEN_HEIGHT) * LINE_CLOCKS };

static inline int32_t column(int32_t clock_of_line)
{
    return clock_of_line < BLANK_CLOCKS ? 0 : clock_of_line - BLANK_CLOCKS;
}

/* Note all collisions up to a moment at which nothing that is pending has ended. Only the rows that are shown count. */
static NEVER_INLINE void collide_up_to(Machine *machine, int32_t clock)
{
    int32_t from = machine->collided, to = clock;
    if (to <= from)
        return;
    machine->collided = clock;
    if (machine->state.registers[VBLANK] & BLANKING)
        return;
    from = from < FIRST_CLOCK ? FIRST_CLOCK : from;
    to = to > LAST_CLOCK ? LAST_CLOCK : to;
    if (from >= to || !open_pairs(machine))
        return;
    if (to - from >= LINE_CLOCKS) {
        collide(machine, 0, SCREEN_WIDTH);
        return;
    }
    const int32_t line = from / LINE_CLOCKS * LINE_CLOCKS, left = column(from - line);
    if (to - line < LINE_CLOCKS)
        collide(machine, left, column(to - line));
    else {
        collide(machine, left, SCREEN_WIDTH);
        collide(machine, 0, column(to - line - LINE_CLOCKS));
    }
}

/* Draw everything up to such a moment. */
static NEVER_INLINE void draw_up_to(Machine *machine, int32_t clock)
{
    const int32_t from = machine->drawn < FIRST_CLOCK ? FIRST_CLOCK : machine->drawn;
    const int32_t to = clock > LAST_CLOCK ? LAST_CLOCK : clock;
    machine->drawn = clock;
    int32_t row = from / LINE_CLOCKS - FIRST_LINE, left = column(from % LINE_CLOCKS);
    bool as_above = false; /* whether the line above was drawn in one go, with all as it is now */
    for (int32_t start = (row + FIRST_LINE) * LINE_CLOCKS; start < to; start += LINE_CLOCKS, row++, left = 0) {
        const int32_t right = to - start < LINE_CLOCKS ? column(to - start) : SCREEN_WIDTH;
        const bool whole = right - left == SCREEN_WIDTH && !(machine->state.pending & PENDING_BLANK);
        if (whole && as_above)
            memcpy(machine->screen[row], machine->screen[row - 1], SCREEN_WIDTH);
        else if (left < right)
            draw(machine, row, left, right);
        else if (right == 0)
            machine->drawn = start + BLANK_CLOCKS; /* there are no pixels before */
        as_above = whole;
    }
}

/* Settle what is before the end of the line until which some objects are not as their registers say. */
static NEVER_INLINE void end_pending(Machine *machine)
{
    collide_up_to(machine, machine->pending_end);
    if (machine->pending_end > machine->drawn)
        draw_up_to(machine, machine->pending_end);
    machine->dirty |= machine->state.pending & PENDING_OBJECTS;
    machine->state.pending &= (uint8_t)~PENDING_OBJECTS;
    machine->pending_end = NO_DEADLINE;
}

/* Do what must be done before these objects change. */
static inline void settle(Machine *machine, uint32_t objects, int32_t clock)
{
    if (UNLIKELY(clock > machine->pending_end))
        end_pending(machine);
    if (collidable(machine, objects))
        collide_up_to(machine, clock);
    if (clock > machine->drawn)
        draw_up_to(machine, clock);
}

/* The same before anything may change. */
static inline void settle_all(Machine *machine, int32_t clock)
{
    settle(machine, 0, clock);
    collide_up_to(machine, clock);
}

/* The same where only the colour of something changes. */
static inline void settle_pixels(Machine *machine, int32_t clock)
{
    if (clock > machine->drawn)
        settle(machine, 0, clock);
}

/* Do what must be done before collisions are read. */
static inline void settle_collisions(Machine *machine, int32_t clock)
{
    if (UNLIKELY(clock > machine->pending_end))
        end_pending(machine);
    collide_up_to(machine, clock);
}

/* Note which objects wait for the end of the line that the beam is in at a moment. Lines end where they are drawn: above
 * the first row, what is pending waits for that, and in the last row for that of the next frame. */
static inline void set_pending(Machine *machine, uint32_t object, bool pending, int32_t clock)
{
    State *state = &machine->state;
    state->pending = (uint8_t)((state->pending & ~SET(object)) | (uint32_t)pending << object);
    if (!(state->pending & PENDING_OBJECTS))
        machine->pending_end = NO_DEADLINE;
    else if (pending) {
        const int32_t end =
            clock <= FIRST_CLOCK ? FIRST_CLOCK + LINE_CLOCKS : (clock + LINE_CLOCKS - 1) / LINE_CLOCKS * LINE_CLOCKS;
        machine->pending_end = end < LAST_CLOCK ? end : NO_DEADLINE;
    }
}

/* ---- frames -------------------------------------------------------------------------------------------------------- */

static inline void begin_picture(Machine *machine, bool drawing)
{
    const State *state = &machine->state;
    machine->drawing = drawing;
    machine->collided = 3 * state->cycle;
    machine->drawn = drawing ? machine->collided : NO_DEADLINE;
    machine->hmove_clock = machine->blank_clock = -LINE_CLOCKS;
    machine->pending_end = state->pending & PENDING_OBJECTS ? FIRST_CLOCK + LINE_CLOCKS : NO_DEADLINE;
}

static inline void end_picture(Machine *machine)
{
    State *state = &machine->state;
    const int32_t end = 3 * state->cycle;
    settle_all(machine, end);
    if (!machine->drawing && state->pending & PENDING_BLANK) {
        /* The line that would have been blanked, if it was drawn. An HMOVE in the last cycle blanks the next line. */
        const int32_t moved = machine->blank_clock + 3;
        const int32_t line = moved < FIRST_CLOCK ? FIRST_LINE : moved / LINE_CLOCKS;
        if (line < FIRST_LINE + SCREEN_HEIGHT && end >= line * LINE_CLOCKS + BLANK_CLOCKS + HMOVE_BLANK_COLUMNS)
            state->pending &= (uint8_t)~PENDING_BLANK;
    }
}

/* ---- registers ----------------------------------------------------------------------------------------------------- */

/* Show other patterns and another ball from now on. */
static NEVER_INLINE void show_patterns(Machine *machine, uint8_t first, uint8_t second, bool ball, int32_t clock)
{
    const uint32_t players = (first != machine->shown[0] ? SET(P0) : 0) | (second != machine->shown[1] ? SET(P1) : 0);
    const uint32_t objects = players | (ball ? SET(BL) : 0);
    if (objects & (objects - 1))
        settle_all(machine, clock); /* two may appear at once: neither was there to collide before */
    else
        settle(machine, objects, clock);
    machine->shown[0] = first;
    machine->shown[1] = second;
    machine->dirty |= (uint8_t)players;
    machine->present = (uint8_t)((machine->present & ~(SET(P0) | SET(P1))) | (first ? SET(P0) : 0) | (second ? SET(P1) : 0));
    if (ball) {
        machine->state.old_ball = machine->state.registers[ENABL];
        changed(machine, BL);
    }
}

/* GRP0, GRP1: a write to one player's pattern also hands the other's last pattern on to its delayed copy, and that to
 * the second one's also the ball's. */
static ALWAYS_INLINE void write_pattern(Machine *machine, const uint32_t player, uint8_t value, int32_t clock)
{
    State *state = &machine->state;
    uint8_t *registers = state->registers;
    const uint32_t other = 1 - player;
    const uint8_t mine = registers[VDELP0 + player] & 1 ? machine->shown[player] : value;
    const uint8_t others = registers[VDELP0 + other] & 1 ? registers[GRP0 + other] : machine->shown[other];
    const bool ball = player == 1 && registers[VDELBL] & 1 && (state->old_ball ^ registers[ENABL]) & 2;
    if (mine != machine->shown[player] || others != machine->shown[other] || ball)
        show_patterns(machine, player == 0 ? mine : others, player == 0 ? others : mine, ball, clock + 1);
    registers[GRP0 + player] = value;
    state->old_pattern[other] = registers[GRP0 + other];
    if (player == 1)
        state->old_ball = registers[ENABL];
}

/* How far to the right HMOVE moves an object with a motion value of -8 to 7 to the left, by the cycle of the line in
 * which it is written. It gives each object one extra clock every four clocks, up to fifteen, while the line is blank: 8
 * and the motion value of them in all, 8 of which make up for the longer blank. Written at the end of the line before or
 * in the first cycles of a line, it has time for all of them. Written later, it is cut short; and in the second half of a
 * line the first clocks go by before the blank, in which they add nothing. */
static inline int32_t hmove_distance(int32_t motion, int32_t cycle_of_line)
{
    if (cycle_of_line <= 20) {
        const int32_t missed = cycle_of_line < 3 ? 0 : (3 * cycle_of_line - 7) / 4;
        return -motion > missed - 7 ? -motion : missed - 7;
    }
    if (cycle_of_line == 75)
        return -motion;
    if (cycle_of_line < 55)
        return 0;
    const int32_t extra = 7 - (3 * (cycle_of_line - 55) + 6) / 4;
    return extra - motion < 0 ? extra - motion : 0;
}

static NEVER_INLINE void move(Machine *machine, uint32_t objects, int32_t cycle_of_line)
{
    for (uint32_t object = P0; object <= BL; object++) {
        if (!(objects & SET(object)))
            continue;
        const int32_t motion = (int8_t)machine->state.registers[HMP0 + object] >> 4;
        int32_t position = machine->state.position[object] + hmove_distance(motion, cycle_of_line);
        position += position < 0 ? SCREEN_WIDTH : position >= SCREEN_WIDTH ? -SCREEN_WIDTH : 0;
        machine->state.position[object] = (uint8_t)position;
    }
    machine->dirty |= (uint8_t)objects;
}

enum { MOVABLE = (1 << (BL + 1)) - 1 };

static inline void write_hmove(Machine *machine, int32_t clock)
{
    State *state = &machine->state;
    const int32_t cycle_of_line = clock % LINE_CLOCKS / 3;
    const bool blank = cycle_of_line <= 20 || cycle_of_line == 75;
    const uint32_t still = hmove_distance(0, cycle_of_line) != 0 ? MOVABLE : 0; /* objects without motion move too */
    const uint32_t placed = state->pending & PENDING_OBJECTS & MOVABLE;         /* they show their first copy at once */
    const uint32_t objects = machine->moving | still | placed;
    if (objects | machine->drawing)
        settle(machine, objects, clock);
    if (placed) {
        set_pending(machine, P0, false, clock);
        set_pending(machine, P1, false, clock);
    }
    if (blank) {
        state->pending |= PENDING_BLANK;
        machine->blank_clock = clock;
    }
    if (objects)
        move(machine, objects, cycle_of_line);
    machine->hmove_clock = clock;
}

/* RESP, RESM, RESBL: an object appears where the beam is, a few clocks later: players five, the others four. */
static inline uint32_t place(const Machine *machine, uint32_t object, int32_t clock)
{
    /* ale-py has its own positions for objects that some games place shortly after an HMOVE. */
    static const struct {
        uint8_t object, cycles, clock_of_line, position;
    } after_hmove[] = {{M0, 20, 69, 8}, {M1, 3, 18, 3}, {BL, 18, 60, 10}, {BL, 18, 69, 10},
                       {BL, 3, 18, 3},  {BL, 7, 30, 6}, {BL, 6, 27, 5}};
    const int32_t clock_of_line = clock % LINE_CLOCKS, player = object <= P1;
    for (uint32_t at = 0; !player && at < sizeof after_hmove / sizeof *after_hmove; at++)
        if (after_hmove[at].object == object && clock - machine->hmove_clock == 3 * after_hmove[at].cycles &&
            clock_of_line == after_hmove[at].clock_of_line)
            return after_hmove[at].position;
    return (uint32_t)(clock_of_line < BLANK_CLOCKS ? 2 + player
                                                   : (clock_of_line - BLANK_CLOCKS + 4 + player) % SCREEN_WIDTH);
}

/* Where a new position of a player is, seen from a copy of it: in the four clocks before the copy begins, in the copy, or
 * in neither. */
typedef enum { BESIDE_COPY, BEFORE_COPY, IN_COPY } Placement;

static inline Placement placement(uint32_t old_position, uint32_t new_position, uint32_t nusiz)
{
    const uint32_t width = (nusiz & 7) == 5 ? 16 : (nusiz & 7) == 7 ? 32 : 8;
    const uint32_t copies_at[3] = {0, SECOND_COPY[nusiz & 7], THIRD_COPY[nusiz & 7]};
    for (uint32_t copy = 0; copy < 3; copy++) {
        const uint32_t distance = (new_position + 2 * SCREEN_WIDTH - old_position - copies_at[copy]) % SCREEN_WIDTH;
        if (distance < 4)
            return BEFORE_COPY;
        if (distance < 4 + width)
            return IN_COPY;
    }
    return BESIDE_COPY;
}

static NEVER_INLINE void write_player_reset(Machine *machine, uint32_t player, int32_t clock)
{
    State *state = &machine->state;
    const uint32_t position = place(machine, P0 + player, clock);
    const Placement where = placement(state->position[P0 + player], position, state->registers[NUSIZ0 + player]);
    const int32_t shows = where == IN_COPY ? clock + 11 : clock; /* the copy that is being drawn goes on */
    settle(machine, SET(P0 + player), shows);
    state->position[P0 + player] = (uint8_t)position;
    machine->dirty |= (uint8_t)SET(P0 + player);
    set_pending(machine, P0 + player, where != BEFORE_COPY, shows);
}

/* CTRLPF, after everything is settled. */
static inline void write_playfield_control(Machine *machine, uint8_t value, int32_t clock)
{
    const bool mirrored = is_mirrored(&machine->state);
    const bool late = clock % LINE_CLOCKS >= BLANK_CLOCKS + SCREEN_WIDTH / 2 - 1;
    machine->state.registers[CTRLPF] = value;
    set_pending(machine, PF, late && mirrored != (value & 1), clock);
    machine->dirty |= SET(BL) | SET(PF);
}

/* A write to any register but WSYNC and VSYNC, which concern the processor. */
static ALWAYS_INLINE void tia_write(Machine *machine, uint32_t number, uint8_t value, int32_t cycle)
{
    State *state = &machine->state;
    uint8_t *registers = state->registers;
    const int32_t clock = 3 * cycle;
    switch (number) {
    case VBLANK:
        if ((registers[VBLANK] ^ value) & BLANKING)
            settle_all(machine, clock + 1);
        registers[VBLANK] = value;
        break;
    case COLUP0:
    case COLUP1:
    case COLUPF:
    case COLUBK:
        if (registers[number] != (value & 0xfe))
            settle_pixels(machine, clock);
        registers[number] = value & 0xfe;
        break;
    case NUSIZ0:
    case NUSIZ1:
        if (registers[number] == value && !(state->pending & SET(P0 + number - NUSIZ0)))
            break;
        /* What is being drawn goes on as it was for eight clocks. */
        settle(machine, SET(P0 + number - NUSIZ0) | SET(M0 + number - NUSIZ0), clock + 8);
        registers[number] = value;
        set_pending(machine, P0 + number - NUSIZ0, false, clock);
        machine->dirty |= (uint8_t)(SET(P0 + number - NUSIZ0) | SET(M0 + number - NUSIZ0));
        break;
    case CTRLPF:
        if (registers[CTRLPF] == value && !(state->pending & SET(PF)))
            break;
        settle(machine, SET(BL) | SET(PF), clock);
        write_playfield_control(machine, value, clock);
        break;
    case REFP0:
    case REFP1:
        if (registers[number] == value)
            break;
        settle(machine, SET(P0 + number - REFP0), clock + 1);
        registers[number] = value;
        machine->dirty |= (uint8_t)SET(P0 + number - REFP0);
        break;
    case PF0:
    case PF1:
    case PF2:
        if (registers[number] != value) {
            /* The playfield is fetched every four clocks: a write shows with the next fetch. */
            static const uint8_t delay[4] = {4, 5, 2, 3};
            settle(machine, SET(PF), clock + delay[cycle & 3]);
            registers[number] = value;
            changed(machine, PF);
        }
        break;
    case RESP0:
    case RESP1:
        write_player_reset(machine, number - RESP0, clock);
        break;
    case RESM0:
    case RESM1:
    case RESBL: {
        /* A missile appears from the next line on: until eight clocks later, it is where it was. */
        const uint32_t object = number - RESP0;
        settle(machine, SET(object), object == BL ? clock : clock + 8);
        state->position[object] = (uint8_t)place(machine, object, clock);
        machine->dirty |= (uint8_t)SET(object);
        break;
    }
    case GRP0:
        write_pattern(machine, 0, value, clock);
        break;
    case GRP1:
        write_pattern(machine, 1, value, clock);
        break;
    case ENAM0:
    case ENAM1:
        if (registers[number] == value)
            break;
        settle(machine, SET(M0 + number - ENAM0), clock);
        registers[number] = value;
        changed(machine, M0 + number - ENAM0);
        break;
    case ENABL:
        if (registers[ENABL] == value)
            break;
        settle(machine, SET(BL), clock);
        registers[ENABL] = value;
        changed(machine, BL);
        break;
    case HMP0:
    case HMP1:
    case HMM0:
    case HMM1:
    case HMBL: {
        const uint32_t object = number - HMP0;
        if (number == HMM0 && clock == machine->hmove_clock + 3 * 21 && registers[HMM0] >> 4 == 7 && value >> 4 == 6)
            machine->fault |= FAULT_MISSILE; /* HMOVE never stops moving it: the stars of Cosmic Ark */
        registers[number] = value;
        machine->moving = (uint8_t)((machine->moving & ~SET(object)) | (uint32_t)(value >> 4 != 0) << object);
        break;
    }
    case VDELP0:
    case VDELP1: {
        const uint32_t player = number - VDELP0;
        if (registers[number] == value)
            break;
        settle(machine, SET(P0 + player), clock);
        registers[number] = value;
        machine->shown[player] = pattern_shown(state, player);
        changed(machine, P0 + player);
        break;
    }
    case VDELBL:
        if (registers[VDELBL] == value)
            break;
        settle(machine, SET(BL), clock);
        registers[VDELBL] = value;
        changed(machine, BL);
        break;
    case RESMP0:
    case RESMP1: {
        /* A missile locked to its player is hidden; it is let go at the player's middle. */
        const uint32_t player = number - RESMP0, size = registers[NUSIZ0 + player] & 7;
        if (registers[number] == value)
            break;
        settle(machine, SET(M0 + player), clock);
        if (registers[number] & ~value & 2)
            state->position[M0 + player] =
                (uint8_t)((state->position[P0 + player] + (size == 5 ? 8 : size == 7 ? 16 : 4)) % SCREEN_WIDTH);
        registers[number] = value;
        changed(machine, M0 + player);
        break;
    }
    case HMOVE:
        write_hmove(machine, clock);
        break;
    case HMCLR:
        memset(registers + HMP0, 0, 5);
        machine->moving = 0;
        break;
    case CXCLR:
        if (machine->collided < clock)
            machine->collided = clock; /* whatever collided until now is forgotten */
        state->collisions = 0;
        memcpy(machine->watch, machine->all_watch, sizeof machine->watch);
        break;
    default: /* sound, and registers that do not exist */
        break;
    }
}

/* The same for a register that is not known beforehand. */
static NEVER_INLINE UNUSED void tia_write_any(Machine *machine, uint32_t number, uint8_t value, int32_t cycle)
{
    tia_write(machine, number, value, cycle);
}

/* Collisions and the trigger. Bits that a register does not drive keep what was on the bus. */
static NEVER_INLINE UNUSED uint8_t tia_read(Machine *machine, uint32_t address, uint32_t bus, int32_t cycle)
{
    const uint32_t number = address & 15;
    uint8_t value = bus & 0x3f;
    if (number < 8) {
        const uint32_t pairs = PAIRS_READ(number);
        settle_collisions(machine, 3 * cycle);
        if (pairs & ~(uint32_t)machine->wanted)
            machine->fault |= FAULT_COLLISION;
        uint32_t hit = (machine->state.collisions & pairs) >> FIRST_PAIR(number);
        value |= (uint8_t)((hit & 1) << 7 | (hit & 2) << 5);
    } else if (number == 12)
        value |= machine->trigger;
    else if (number == 13)
        value |= 0x80; /* the second player's trigger is never pressed */
    return value;
}

#endif
