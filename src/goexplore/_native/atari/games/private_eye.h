#ifndef GOEXPLORE_PRIVATE_EYE_H
#define GOEXPLORE_PRIVATE_EYE_H

#include "../game.h"

static void look_private_eye(State *state)
{
    state->score = two_digits(RAM(0xc8)) * 10000 + two_digits(RAM(0xc9)) * 100 + two_digits(RAM(0xca));
    state->over = RAM(0xc2) > 1;
    state->lives = 0; /* there are none to lose: a game takes three minutes */
}

static const Game PRIVATE_EYE = {
    .rom = "private_eye",
    .collisions = ALL_PAIRS, /* it reads most registers */
    .has_modes = true,
    .starting_actions = {2, END_OF_ACTIONS},
    .look = look_private_eye,
};

#endif
