#ifndef GOEXPLORE_SKIING_H
#define GOEXPLORE_SKIING_H

#include "../game.h"

enum { SKIING_DOWN = 5 };

static void look_skiing(State *state)
{
    /* Every hundredth of a second costs a point, so the score falls. */
    state->score = -(RAM(0xe8) * 6000 + two_digits(RAM(0xe9)) * 100 + two_digits(RAM(0xea)));
    state->over = RAM(0x91) == 0xff;
    state->lives = 0; /* there are none to lose */
}

static const Game SKIING = {
    .rom = "skiing",
    .collisions = PAIRS_READ(CXPPMM),
    .ignores_trigger = true,
    .starting_actions = {SKIING_DOWN, SKIING_DOWN, SKIING_DOWN, SKIING_DOWN, SKIING_DOWN, SKIING_DOWN,
                         SKIING_DOWN, SKIING_DOWN, SKIING_DOWN, SKIING_DOWN, SKIING_DOWN, SKIING_DOWN,
                         SKIING_DOWN, SKIING_DOWN, SKIING_DOWN, SKIING_DOWN, END_OF_ACTIONS},
    .look = look_skiing,
};

#endif
