/* How a game is begun: the state that ale-py's games begin in. */
#ifndef GOEXPLORE_BOOT_H
#define GOEXPLORE_BOOT_H

#include "console.h"

enum { BOOT_FRAMES = 64, RESET_FRAMES = 4 };

/* What ale-py's memory holds at power-on, which some games never overwrite: the lowest bytes that the Mersenne Twister
 * MT19937 gives for one seed, whatever seed the user asks for. (The timer is random there too; no game here depends on
 * it.) */
static void fill_memory(uint8_t memory[128])
{
    enum { WORDS = 624, AHEAD = 397, SEED = 4753849 };
    uint32_t words[WORDS] = {SEED};
    for (uint32_t at = 1; at < WORDS; at++)
        words[at] = 1812433253u * (words[at - 1] ^ words[at - 1] >> 30) + at;
    for (uint32_t at = 0; at < 128; at++) {
        const uint32_t joined = (words[at] & 0x80000000) | (words[at + 1] & 0x7fffffff);
        uint32_t word = words[at + AHEAD] ^ joined >> 1 ^ (joined & 1 ? 0x9908b0df : 0);
        word ^= word >> 11;
        word ^= word << 7 & 0x9d2c5680;
        word ^= word << 15 & 0xefc60000;
        memory[at] = (uint8_t)(word ^ word >> 18);
    }
}

static void power_on(Machine *machine)
{
    State *state = &machine->state;
    memset(state, 0, sizeof *state);
    fill_memory(state->ram);
    show_view(machine, machine->cartridge->power_on_view);
    state->layout = STATE_LAYOUT;
    state->sp = 0xff;
    state->z = 1;
    state->timer_value = 25;
    state->timer_shift = 6;
    state->timer_again = NO_DEADLINE;
    state->vsync_end = NO_DEADLINE;
    state->pc = (uint16_t)(machine->rom[0xffc] | machine->rom[0xffd] << 8);
    machine->fault = 0;
    refresh_tia(machine);
}

/* A second of nothing, the reset switch, and what the game needs to begin. */
static void boot(Machine *machine, const Game *game)
{
    power_on(machine);
    for (int frame = 0; frame < BOOT_FRAMES; frame++)
        play_frame(machine, NOOP, false, false);
    for (int frame = 0; frame < RESET_FRAMES * game->resets; frame++)
        play_frame(machine, NOOP, true, true);
    for (const uint8_t *action = game->starting_actions; *action != END_OF_ACTIONS; action++)
        play_frame(machine, *action, false, true);
    look(&machine->state, game);
}

#endif
