/* Score, lives and the end of a game, read from memory as ale-py does. */
#ifndef GOEXPLORE_GAMES_H
#define GOEXPLORE_GAMES_H

#include "machine.h"
#include "tia.h"

enum { END_OF_ACTIONS = 255 };

typedef struct {
    const char *rom;
    bool slices;                /* whether 8 kB mean Parker Brothers' bank switching */
    uint16_t collisions;        /* the pairs that the game reads */
    uint8_t starting_actions[20];
    void (*look)(State *state);
} Game;

/* The byte at an address of the zero page, of which the upper half is RAM. */
#define RAM(address) (state->ram[(address)-0x80])

static inline int32_t two_digits(uint8_t decimal)
{
    return (decimal >> 4) * 10 + (decimal & 15);
}

static void look_montezuma_revenge(State *state)
{
    state->score = two_digits(RAM(0x93)) * 10000 + two_digits(RAM(0x94)) * 100 + two_digits(RAM(0x95));
    state->over = RAM(0xba) == 0 && RAM(0xfe) == 0x60;
    state->lives = (RAM(0xba) & 7) + 1;
}

static void look_pitfall(State *state)
{
    const uint8_t lives = RAM(0x80) >> 4;
    state->score = two_digits(RAM(0xd5)) * 10000 + two_digits(RAM(0xd6)) * 100 + two_digits(RAM(0xd7));
    state->over = lives == 0 && RAM(0x9e) != 0;
    state->lives = lives == 0xa ? 3 : lives == 8 ? 2 : 1;
}

static const Game GAMES[] = {
    {"montezuma_revenge", true, PAIRS_READ(CXM0P) | PAIRS_READ(CXM1P) | PAIRS_READ(CXP0FB) | PAIRS_READ(CXPPMM), {END_OF_ACTIONS}, look_montezuma_revenge},
    {"pitfall", false, PAIRS_READ(CXP0FB) | PAIRS_READ(CXPPMM), {2, END_OF_ACTIONS}, look_pitfall},
};

static inline void look(State *state, const Game *game)
{
    game->look(state);
    if (state->over)
        state->lives = 0;
}

static UNUSED const Game *find_game(const char *rom)
{
    for (size_t index = 0; index < sizeof GAMES / sizeof *GAMES; index++)
        if (strcmp(GAMES[index].rom, rom) == 0)
            return &GAMES[index];
    return NULL;
}

#endif
