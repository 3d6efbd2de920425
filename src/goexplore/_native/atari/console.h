/* The console: joystick and frames. */
#ifndef GOEXPLORE_CONSOLE_H
#define GOEXPLORE_CONSOLE_H

#include "game.h"
#include "interpreter.h"

enum { ACTIONS = 18, NOOP = 0 };

/* Bits of the first joystick in SWCHA, by ale-py's numbers of actions; pressed is 0. */
enum { UP = 0x10, DOWN = 0x20, LEFT = 0x40, RIGHT = 0x80 };

static inline void press(Machine *machine, const Game *game, uint32_t action, bool reset)
{
    static const uint8_t directions[ACTIONS] = {
        0,  0,     UP,   RIGHT, LEFT, DOWN,       UP | RIGHT, UP | LEFT,    DOWN | RIGHT, DOWN | LEFT,
        UP, RIGHT, LEFT, DOWN,  UP | RIGHT, UP | LEFT, DOWN | RIGHT, DOWN | LEFT};
    const bool trigger = action == 1 || action >= 10, ignored = trigger && game->ignores_trigger;
    machine->directions = (uint8_t)~directions[ignored ? NOOP : action];
    machine->trigger = trigger && !ignored ? 0 : 0x80;
    machine->switches = reset ? 0x3e : 0x3f; /* colour television, both players amateurs */
}

/* Play one game frame. */
static void play_frame(Machine *machine, const Game *game, uint32_t action, bool reset, bool drawing)
{
    State *state = &machine->state;
    press(machine, game, action, reset);
    begin_picture(machine, drawing);
    machine->run_frame(machine);
    end_picture(machine);
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

/* Whether something can have happened at a time, before the frame or in its first line. */
static inline bool is_past(int32_t cycle)
{
    return cycle > -(1 << 29) && cycle < LINE_CYCLES;
}

/* Put a machine into a state of bytes from anywhere; return false where no machine can be in it. */
static bool restore_state(Machine *machine, const void *bytes, size_t size)
{
    State state;
    if (size != sizeof state)
        return false;
    memcpy(&state, bytes, sizeof state);
    bool possible = state.layout == STATE_LAYOUT && state.view < machine->cartridge->view_count && state.cycle >= 0 &&
                    state.cycle < LINE_CYCLES && state.c <= 1 && state.v <= 1 && state.d <= 1 && state.i <= 1 &&
                    state.timer_shift <= 10 && is_past(state.timer_set) &&
                    (state.timer_again == NO_DEADLINE || is_past(state.timer_again)) &&
                    (state.vsync_end == NO_DEADLINE || (state.vsync_end > -(1 << 29) && state.vsync_end < (1 << 29))) &&
                    state.collisions <= ALL_PAIRS && !(state.pending & ~(PENDING_OBJECTS | PENDING_BLANK)) &&
                    state.over <= 1 && state.counter >= 0 && state.counter < MAX_SCORE && state.score > -MAX_SCORE &&
                    state.score < MAX_SCORE;
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
        play_frame(machine, game, action, false, frame == frame_skip);
        look(state, game);
    }
    return state->score - before;
}

/* Play training frames until the last or the end of the game; return their reward. Only the last game frame is drawn, and
 * the one in which the game ends. */
static UNUSED int32_t play_all(Machine *machine, const Game *game, const uint8_t *actions, size_t count, uint32_t frame_skip)
{
    State *state = &machine->state;
    const int32_t before = state->score;
    for (size_t at = 0; at < count; at++)
        for (uint32_t frame = 1; frame <= frame_skip && !state->over && !machine->fault; frame++) {
            const State earlier = *state;
            const bool drawing = at + 1 == count && frame == frame_skip;
            play_frame(machine, game, actions[at], false, drawing);
            look(state, game);
            if (state->over && !drawing && restore_state(machine, &earlier, sizeof earlier)) {
                play_frame(machine, game, actions[at], false, true);
                look(state, game);
            }
        }
    return state->score - before;
}

/* In words what the machine stopped at; NULL if it runs. */
static UNUSED const char *fault_reason(const Machine *machine)
{
    static const char *const reasons[] = FAULT_REASONS;
    return machine->fault ? reasons[lowest_bit(machine->fault)] : NULL;
}

#endif
