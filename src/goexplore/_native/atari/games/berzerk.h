#ifndef GOEXPLORE_BERZERK_H
#define GOEXPLORE_BERZERK_H

#include "../game.h"

static void look_berzerk(State *state)
{
    state->score = two_digits(RAM(0xdd)) * 10000 + two_digits(RAM(0xde)) * 100 + two_digits(RAM(0xdf));
    state->over = RAM(0xda) == 0xff;
    state->lives = (uint8_t)(RAM(0xda) + 1);
}

static const Game BERZERK = {
    .rom = "berzerk",
    .collisions = ALL_PAIRS,
    .has_modes = true,
    .frames_before_mode = 20,
    .starting_actions = {END_OF_ACTIONS},
    .look = look_berzerk,
};

#endif
