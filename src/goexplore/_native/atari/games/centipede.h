#ifndef GOEXPLORE_CENTIPEDE_H
#define GOEXPLORE_CENTIPEDE_H

#include "../game.h"

/* ale-py gives no reward where the score counter falls. It was never seen to fall before it rolls over at a million. */
static void look_centipede(State *state)
{
    const int32_t counter = two_digits(RAM(0xf4)) * 10000 + two_digits(RAM(0xf5)) * 100 + two_digits(RAM(0xf6));
    if (state->score < counter)
        state->score = counter;
    state->over = (RAM(0xa6) & 0x40) != 0;
    state->lives = (uint8_t)((RAM(0xed) >> 4 & 7) + 1);
}

static const Game CENTIPEDE = {
    .rom = "centipede",
    .collisions = 0,
    .resets = 2,
    .starting_actions = {END_OF_ACTIONS},
    .look = look_centipede,
};

#endif
