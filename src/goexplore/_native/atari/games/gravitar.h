#ifndef GOEXPLORE_GRAVITAR_H
#define GOEXPLORE_GRAVITAR_H

#include "../game.h"

static void look_gravitar(State *state)
{
    state->score = two_digits(RAM(0x87)) * 10000 + two_digits(RAM(0x88)) * 100 + two_digits(RAM(0x89));
    state->over = RAM(0x81) == 1;
    state->lives = RAM(0x81) == 0 ? 6 : RAM(0x84) + 1;
}

static const Game GRAVITAR = {
    .rom = "gravitar",
    .collisions = ALL_PAIRS, /* it reads most registers */
    .starting_actions = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, END_OF_ACTIONS},
    .look = look_gravitar,
};

#endif
