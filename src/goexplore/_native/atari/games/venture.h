#ifndef GOEXPLORE_VENTURE_H
#define GOEXPLORE_VENTURE_H

#include "../game.h"

static void look_venture(State *state)
{
    state->score = 100 * (two_digits(RAM(0xc7)) * 100 + two_digits(RAM(0xc8)));
    state->over = RAM(0xc6) == 0 && RAM(0xcd) == 0xff && (RAM(0xbf) & 0x80) != 0;
    state->lives = (RAM(0xc6) & 7) + 1;
}

static const Game VENTURE = {
    .rom = "venture",
    .collisions = PAIRS_READ(CXP0FB) | PAIRS_READ(CXP1FB) | PAIRS_READ(CXBLPF) | PAIRS_READ(CXPPMM),
    .starting_actions = {END_OF_ACTIONS},
    .look = look_venture,
};

#endif
