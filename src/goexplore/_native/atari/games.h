/* The games that the engine knows, a file each. */
#ifndef GOEXPLORE_GAMES_H
#define GOEXPLORE_GAMES_H

#include "games/berzerk.h"
#include "games/bowling.h"
#include "games/centipede.h"
#include "games/freeway.h"
#include "games/gravitar.h"
#include "games/montezuma_revenge.h"
#include "games/pitfall.h"
#include "games/private_eye.h"
#include "games/skiing.h"
#include "games/solaris.h"
#include "games/venture.h"

static const Game *const GAMES[] = {&BERZERK,           &BOWLING, &CENTIPEDE,   &FREEWAY, &GRAVITAR,
                                    &MONTEZUMA_REVENGE, &PITFALL, &PRIVATE_EYE, &SKIING,  &SOLARIS, &VENTURE};
enum { GAME_COUNT = sizeof GAMES / sizeof *GAMES };

static UNUSED const Game *find_game(const char *rom)
{
    for (size_t index = 0; index < GAME_COUNT; index++)
        if (strcmp(GAMES[index]->rom, rom) == 0)
            return GAMES[index];
    return NULL;
}

#endif
