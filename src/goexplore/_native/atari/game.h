/* What the engine knows of a game: how it is begun, and score, lives and its end, read from memory as ale-py does. */
#ifndef GOEXPLORE_GAME_H
#define GOEXPLORE_GAME_H

#include "machine.h"
#include "tia.h"

enum { END_OF_ACTIONS = 255 };

enum { MAX_SCORE = 1 << 24 }; /* no state has a score as high as this */

typedef struct {
    const char *rom;
    bool slices;                /* whether 8 kB mean Parker Brothers' bank switching */
    uint16_t collisions;        /* the pairs that the game reads */
    bool ignores_trigger;       /* whether ale-py takes actions with the trigger for no action */
    bool has_modes;             /* whether ale-py chooses one of the game's modes */
    uint8_t frames_before_mode; /* for how long it waits before it does so */
    uint8_t starting_actions[20];
    void (*look)(State *state);
} Game;

/* The byte at an address of the zero page, of which the upper half is RAM. */
#define RAM(address) (state->ram[(address)-0x80])

static inline int32_t two_digits(uint8_t decimal)
{
    return (decimal >> 4) * 10 + (decimal & 15);
}

static inline void look(State *state, const Game *game)
{
    game->look(state);
    if (state->over)
        state->lives = 0;
}

#endif
