/* The console: joystick and frames. */
#ifndef GOEXPLORE_CONSOLE_H
#define GOEXPLORE_CONSOLE_H

#include "game.h"
#include "interpreter.h"

enum { ACTIONS = 18, NOOP = 0 };

/* Bits of the first joystick in SWCHA, by ale-py's numbers of actions; pressed is 0. */
enum { UP = 0x10, DOWN = 0x20, LEFT = 0x40, RIGHT = 0x80 };

static inline void press(Machine *machine, uint32_t action, bool reset)
{
    static const uint8_t directions[ACTIONS] = {
        0,  0,     UP,   RIGHT, LEFT, DOWN,       UP | RIGHT, UP | LEFT,    DOWN | RIGHT, DOWN | LEFT,
        UP, RIGHT, LEFT, DOWN,  UP | RIGHT, UP | LEFT, DOWN | RIGHT, DOWN | LEFT};
    machine->directions = (uint8_t)~directions[action];
    machine->trigger = action == 1 || action >= 10 ? 0 : 0x80;
    machine->switches = reset ? 0x3e : 0x3f; /* colour television, both players amateurs */
}

/* Play one game frame. */
static void play_frame(Machine *machine, uint32_t action, bool reset, bool drawing)
{
    State *state = &machine->state;
    press(machine, action, reset);
    machine->drawing = drawing;
    machine->hmove_blank = false;
    machine->settled = 3 * state->cycle;
    machine->run_frame(machine);
    settle(machine, ALL_OBJECTS, 3 * state->cycle);
    if (UNLIKELY(state->cycle >= MAX_FRAME_CYCLES))
        machine->fault |= FAULT_HANG; /* translated code looks at the time in loops only */
    /* The next frame's time begins with the line in which this one ended. */
    const int32_t lines = state->cycle / LINE_CYCLES * LINE_CYCLES;
    state->cycle -= lines;
    state->timer_set -= lines;
    if (state->timer_again != NO_DEADLINE)
        state->timer_again -= lines;
    if (state->vsync_end != NO_DEADLINE)
        state->vsync_end = state->vsync_end < 3 * lines ? 0 : state->vsync_end - 3 * lines;
    /* A timer that has long run out: only its value modulo all intervals matters. */
    if (UNLIKELY(state->timer_set < -(1 << 28)))
        state->timer_set += 1 << 27;
    if (UNLIKELY(state->timer_again < -(1 << 28)))
        state->timer_again += 1 << 27;
}

/* Put a machine into a state of bytes from anywhere; return false where no machine can be in it. */
static bool restore_state(Machine *machine, const void *bytes, size_t size)
{
    State state;
    if (size != sizeof state)
        return false;
    memcpy(&state, bytes, sizeof state);
    bool possible = state.layout == STATE_LAYOUT && state.view < machine->cartridge->view_count && state.cycle >= 0 && state.cycle < LINE_CYCLES &&
                    state.timer_shift <= 10 && state.c <= 1 && state.v <= 1 && state.d <= 1 && state.i <= 1 &&
                    state.over <= 1 && state.score >= 0 && state.score < (1 << 24) &&
                    state.timer_set > -(1 << 29) && state.timer_set < LINE_CYCLES &&
                    (state.timer_again == NO_DEADLINE ||
                     (state.timer_again > -(1 << 29) && state.timer_again < LINE_CYCLES)) &&
                    (state.vsync_end == NO_DEADLINE || (state.vsync_end > -(1 << 29) && state.vsync_end < (1 << 29))) &&
                    state.collisions <= ALL_PAIRS;
    for (uint32_t object = P0; object <= BL; object++)
        possible = possible && state.position[object] < SCREEN_WIDTH;
    if (!possible)
        return false;
    machine->state = state;
    machine->fault = 0;
    show_view(machine, state.view);
    refresh_tia(machine);
    return true;
}

/* Play one training frame; return its reward. Only its last game frame is drawn. */
static int32_t play(Machine *machine, const Game *game, uint32_t action, uint32_t frame_skip)
{
    State *state = &machine->state;
    const int32_t before = state->score;
    for (uint32_t frame = 1; frame <= frame_skip && !state->over && !machine->fault; frame++) {
        play_frame(machine, action, false, frame == frame_skip);
        look(state, game);
    }
    return state->score - before;
}

#endif
