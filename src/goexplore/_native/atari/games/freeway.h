#ifndef GOEXPLORE_FREEWAY_H
#define GOEXPLORE_FREEWAY_H

#include "../game.h"

static void look_freeway(State *state)
{
    state->score = two_digits(RAM(0xe7)); /* it grows by one; ale-py allows no other reward */
    state->over = RAM(0x96) == 1;
    state->lives = 0; /* there are none to lose: a game takes two minutes and 16 seconds */
}

static const Game FREEWAY = {
    .rom = "freeway",
    .collisions = PAIRS_READ(CXPPMM),
    .has_modes = true,
    .starting_actions = {END_OF_ACTIONS},
    .look = look_freeway,
};

#endif
