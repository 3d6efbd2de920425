#ifndef GOEXPLORE_SOLARIS_H
#define GOEXPLORE_SOLARIS_H

#include "../game.h"

static void look_solaris(State *state)
{
    state->score = 10 * (two_digits(RAM(0xde)) * 10000 + two_digits(RAM(0xdd)) * 100 + two_digits(RAM(0xdc)));
    state->over = RAM(0xd9) == 0;
    state->lives = RAM(0xd9) & 15;
}

static const Game SOLARIS = {
    .rom = "solaris",
    .collisions = ALL_PAIRS,
    .starting_actions = {END_OF_ACTIONS},
    .look = look_solaris,
};

#endif
