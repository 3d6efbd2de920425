#ifndef GOEXPLORE_MONTEZUMA_REVENGE_H
#define GOEXPLORE_MONTEZUMA_REVENGE_H

#include "../game.h"

static void look_montezuma_revenge(State *state)
{
    state->score = two_digits(RAM(0x93)) * 10000 + two_digits(RAM(0x94)) * 100 + two_digits(RAM(0x95));
    state->over = RAM(0xba) == 0 && RAM(0xfe) == 0x60;
    state->lives = (RAM(0xba) & 7) + 1;
}

static const Game MONTEZUMA_REVENGE = {
    .rom = "montezuma_revenge",
    .slices = true,
    .collisions = PAIRS_READ(CXM0P) | PAIRS_READ(CXM1P) | PAIRS_READ(CXP0FB) | PAIRS_READ(CXPPMM),
    .starting_actions = {END_OF_ACTIONS},
    .look = look_montezuma_revenge,
};

#endif
