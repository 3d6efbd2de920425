#ifndef GOEXPLORE_BOWLING_H
#define GOEXPLORE_BOWLING_H

#include "../game.h"

static void look_bowling(State *state)
{
    state->score = two_digits(RAM(0xa6)) * 100 + two_digits(RAM(0xa1));
    state->over = RAM(0xa4) > 0x10; /* the frame of the game, in decimal, of which there are ten */
    state->lives = 0;               /* there are none to lose */
}

static const Game BOWLING = {
    .rom = "bowling",
    .collisions = PAIRS_READ(CXM0P) | PAIRS_READ(CXP0FB),
    .has_modes = true,
    .starting_actions = {END_OF_ACTIONS},
    .look = look_bowling,
};

#endif
