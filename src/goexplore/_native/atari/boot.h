/* How a game is begun: the state that ale-py's games begin in. */
#ifndef GOEXPLORE_BOOT_H
#define GOEXPLORE_BOOT_H

#include "console.h"

enum { BOOT_FRAMES = 60, RESET_FRAMES = 4 };

/* What ale-py's memory holds at power-on, which some games never overwrite, and its timer, which some read: words that
 * the Mersenne Twister MT19937 gives for one seed, whatever seed the user asks for. The first 128 fill the memory. Each
 * of the resets that follow draws the timer; the fifth of these begins the game. */
static void randomise(State *state)
{
    enum { WORDS = 624, AHEAD = 397, SEED = 4753849, TIMER_DRAW = 128 + 4 };
    uint32_t words[WORDS] = {SEED};
    for (uint32_t at = 1; at < WORDS; at++)
        words[at] = 1812433253u * (words[at - 1] ^ words[at - 1] >> 30) + at;
    for (uint32_t at = 0; at <= TIMER_DRAW; at++) {
        const uint32_t joined = (words[at] & 0x80000000) | (words[at + 1] & 0x7fffffff);
        uint32_t word = words[at + AHEAD] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0df : 0);
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c5680;
        word ^= word << 15 & 0xefc60000;
        word ^= word >> 18;
        if (at < sizeof state->ram)
            state->ram[at] = (uint8_t)word;
        state->timer_value = (uint8_t)(25 + word % 75);
    }
    state->timer_shift = 6;
}

static void power_on(Machine *machine)
{
    State *state = &machine->state;
    memset(state, 0, sizeof *state);
    randomise(state);
    show_view(machine, machine->cartridge->power_on_view);
    state->layout = STATE_LAYOUT;
    state->sp = 0xff;
    state->z = 1;
    state->timer_again = NO_DEADLINE;
    state->vsync_end = NO_DEADLINE;
    state->pc = (uint16_t)(machine->rom[0xffc] | machine->rom[0xffd] << 8);
    machine->fault = 0;
    refresh_tia(machine);
}

static void play_frames(Machine *machine, const Game *game, int count, bool reset)
{
    for (int frame = 0; frame < count; frame++)
        play_frame(machine, game, NOOP, reset, true);
}

/* A second of nothing, the reset switch before and after a mode is chosen, which all games here begin with, the reset
 * switch again, and what the game needs to begin. */
static void boot(Machine *machine, const Game *game)
{
    power_on(machine);
    play_frames(machine, game, BOOT_FRAMES, false);
    play_frames(machine, game, RESET_FRAMES, true);
    if (game->has_modes) {
        play_frames(machine, game, game->frames_before_mode, false);
        play_frames(machine, game, RESET_FRAMES, true);
    }
    play_frames(machine, game, RESET_FRAMES, true);
    for (const uint8_t *action = game->starting_actions; *action != END_OF_ACTIONS; action++)
        play_frame(machine, game, *action, false, true);
    look(&machine->state, game);
}

#endif
