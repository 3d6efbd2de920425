#ifndef GOEXPLORE_CENTIPEDE_H
#define GOEXPLORE_CENTIPEDE_H

#include "../game.h"

static void look_centipede(State *state)
{
    const int32_t counter = two_digits(RAM(0xf4)) * 10000 + two_digits(RAM(0xf5)) * 100 + two_digits(RAM(0xf6));
    const int32_t won = counter - state->counter;
    if (won > 0 && state->score < MAX_SCORE - won) /* ale-py takes nothing away where the counter falls */
        state->score += won;
    state->counter = counter;
    state->over = (RAM(0xa6) & 0x40) != 0;
    state->lives = (uint8_t)((RAM(0xed) >> 4 & 7) + 1);
}

static const Game CENTIPEDE = {
    .rom = "centipede",
    .collisions = 0,
    .has_modes = true,
    .starting_actions = {END_OF_ACTIONS},
    .look = look_centipede,
};

#endif
