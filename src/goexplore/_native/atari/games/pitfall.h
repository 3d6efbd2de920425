#ifndef GOEXPLORE_PITFALL_H
#define GOEXPLORE_PITFALL_H

#include "../game.h"

static void look_pitfall(State *state)
{
    const uint8_t lives = RAM(0x80) >> 4;
    state->score = two_digits(RAM(0xd5)) * 10000 + two_digits(RAM(0xd6)) * 100 + two_digits(RAM(0xd7));
    state->over = lives == 0 && RAM(0x9e) != 0;
    state->lives = lives == 0xa ? 3 : lives == 8 ? 2 : 1;
}

static const Game PITFALL = {
    .rom = "pitfall",
    .collisions = PAIRS_READ(CXP0FB) | PAIRS_READ(CXPPMM),
    .starting_actions = {2, END_OF_ACTIONS},
    .look = look_pitfall,
};

#endif
