/* RIOT (6532): the joystick's directions, the console's switches, and the timer. Its RAM is in State. */
#ifndef GOEXPLORE_RIOT_H
#define GOEXPLORE_RIOT_H

#include "machine.h"

/* The timer counts down once per interval of 1, 8, 64 or 1024 cycles, begins with the first interval one cycle after it
 * was set, and counts every cycle once it has passed 0. Reading it then makes it count intervals again. */
static NEVER_INLINE UNUSED uint8_t riot_read(Machine *machine, uint32_t address, int32_t cycle)
{
    State *state = &machine->state;
    switch (address & 7) {
    case 0:
        return machine->directions;
    case 2:
        return machine->switches;
    case 1:
    case 3:
        return 0; /* direction of the ports: games leave them at input */
    }
    int32_t elapsed = cycle - 1 - state->timer_set;
    int32_t whole = (int32_t)state->timer_value << state->timer_shift;
    if (address & 1) /* whether it has run out */
        return elapsed >= whole && state->timer_again == NO_DEADLINE ? 0x80 : 0;
    int32_t left = (int32_t)state->timer_value - (elapsed >> state->timer_shift) - 1;
    if (left >= 0)
        return (uint8_t)left;
    left = whole - elapsed - 1;
    if (left <= -2 && state->timer_again == NO_DEADLINE)
        state->timer_again = cycle;
    if (state->timer_again != NO_DEADLINE)
        left = (int32_t)state->timer_value - (elapsed >> state->timer_shift) -
               (state->timer_again - (state->timer_set + whole));
    return (uint8_t)left;
}

static NEVER_INLINE UNUSED void riot_write(Machine *machine, uint32_t address, uint8_t value, int32_t cycle)
{
    static const uint8_t shifts[4] = {0, 3, 6, 10};
    if ((address & 0x14) != 0x14)
        return;
    machine->state.timer_value = value;
    machine->state.timer_shift = shifts[address & 3];
    machine->state.timer_set = cycle;
    machine->state.timer_again = NO_DEADLINE;
}

#endif
