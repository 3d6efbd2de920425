/* Cells of Montezuma's Revenge and Pitfall from domain knowledge that is read from the pixels (paper appendix A.3).
 *
 * The definitions, with the reasons, are goexplore/cells/_montezuma.py and _pitfall.py: these give the same bytes.
 */
#ifndef GOEXPLORE_TRACKING_H
#define GOEXPLORE_TRACKING_H

#include "../atari/machine.h"
#include "character.h"

enum { PLAYFIELD_TOP = 50, CHARACTER_COLOUR = 74, NO_POSITION = 0xffff, NO_KEY = 255, KEY_SLOTS = 4 };

/* What is tracked: level and keys in Montezuma's Revenge only. */
typedef struct {
    uint16_t level, x;
    uint8_t room, y;
    uint8_t slots[KEY_SLOTS];
} Tracked;

enum { MONTEZUMA_STATE = 10, PITFALL_STATE = 4, MAX_TRACKED_KEY = 5 + KEY_SLOTS };

static inline Character find_on_screen(const Machine *machine)
{
    return find_colour(machine->screen[PLAYFIELD_TOP], (SCREEN_HEIGHT - PLAYFIELD_TOP) * SCREEN_WIDTH, SCREEN_WIDTH,
                       CHARACTER_COLOUR);
}

static inline uint8_t cell_of(uint16_t position, uint32_t size)
{
    return (uint8_t)(position == NO_POSITION ? 0 : position / size);
}

/* ---- Montezuma's Revenge ------------------------------------------------------------------------------------------- */

enum { FIRST_ROOM = 1, TREASURE_ROOM = 15, ROOM_COUNT = 24, ROOM_JUMP = 50, KEY_PIXELS = 40, BLUE = 144 };
enum { STRIP_TOP = 25, STRIP_ROWS = 20, INVENTORY_LEFT = 56, INVENTORY_FIELDS = 6, FIELD_WIDTH = 8 };

/* The inventory hardly ever changes: its last strip and the number of keys in it. */
typedef struct {
    bool known;
    uint32_t keys;
    uint8_t strip[STRIP_ROWS][SCREEN_WIDTH];
} Inventory;

/* The room that lies to one side, or -1: rows of 3, 5, 7 and 9 rooms, each centred below the one above. */
static int32_t room_beside(uint32_t room, int32_t right, int32_t down)
{
    static const int32_t first[5] = {0, 3, 8, 15, 24};
    int32_t row = 0;
    while ((int32_t)room >= first[row + 1])
        row++;
    int32_t column = 3 - row + (int32_t)room - first[row] + right;
    row += down;
    if (row < 0 || row > 3)
        return -1;
    int32_t beside = column - (3 - row) + first[row];
    return beside < first[row] || beside >= first[row + 1] ? -1 : beside;
}

static void change_room(Tracked *tracked, int32_t right, int32_t down)
{
    if (tracked->room == TREASURE_ROOM) {
        tracked->level = (uint16_t)(tracked->level < 0xffff ? tracked->level + 1 : 0xffff);
        tracked->room = FIRST_ROOM;
        return;
    }
    int32_t width = right < 0 ? -right : right, height = down < 0 ? -down : down;
    int32_t beside = width >= height ? room_beside(tracked->room, right > 0 ? -1 : 1, 0)
                                     : room_beside(tracked->room, 0, down > 0 ? -1 : 1);
    if (beside >= 0)
        tracked->room = (uint8_t)beside;
}

static uint32_t count_keys(const Machine *machine)
{
    uint32_t keys = 0;
    for (int32_t field = 0; field < INVENTORY_FIELDS; field++) {
        uint32_t pixels = 0;
        for (int32_t row = STRIP_TOP; row < STRIP_TOP + STRIP_ROWS; row++)
            for (int32_t column = 0; column < FIELD_WIDTH; column++)
                pixels += machine->screen[row][INVENTORY_LEFT + FIELD_WIDTH * field + column] != 0;
        keys += pixels == KEY_PIXELS;
    }
    return keys < KEY_SLOTS ? keys : KEY_SLOTS;
}

static void track_keys(Tracked *tracked, Inventory *inventory, const Machine *machine)
{
    if (!inventory->known || memcmp(inventory->strip, machine->screen[STRIP_TOP], sizeof inventory->strip) != 0) {
        memcpy(inventory->strip, machine->screen[STRIP_TOP], sizeof inventory->strip);
        inventory->keys = count_keys(machine);
        inventory->known = true;
    }
    int32_t more = (int32_t)inventory->keys;
    for (uint32_t slot = 0; slot < KEY_SLOTS; slot++)
        more -= tracked->slots[slot] != NO_KEY;
    for (uint32_t slot = 0; slot < KEY_SLOTS && more != 0; slot++) {
        bool is_free = tracked->slots[slot] == NO_KEY;
        if (more > 0 && is_free) {
            tracked->slots[slot] = tracked->room;
            more--;
        } else if (more < 0 && !is_free) {
            tracked->slots[slot] = NO_KEY;
            more++;
        }
    }
}

static bool is_transition(const Machine *machine)
{
    for (int32_t row = PLAYFIELD_TOP; row < SCREEN_HEIGHT; row++)
        for (int32_t column = 0; column < SCREEN_WIDTH; column++)
            if (machine->screen[row][column] != 0 && machine->screen[row][column] != BLUE)
                return false;
    return true;
}

/* Take in one more training frame; return false where the pixels show a death. */
static bool track_montezuma(Tracked *tracked, Inventory *inventory, const Machine *machine)
{
    Character found = find_on_screen(machine);
    if (!found.visible)
        return is_transition(machine);
    if (found.scattered)
        return false;
    if (tracked->x != NO_POSITION) {
        int32_t right = found.x - tracked->x, down = found.y - tracked->y;
        if (right <= -ROOM_JUMP || right >= ROOM_JUMP || down <= -ROOM_JUMP || down >= ROOM_JUMP)
            change_room(tracked, right, down);
    }
    tracked->x = (uint16_t)found.x;
    tracked->y = (uint8_t)found.y;
    track_keys(tracked, inventory, machine);
    return true;
}

static size_t montezuma_key(const Tracked *tracked, uint32_t cell_width, uint32_t cell_height, uint8_t *key)
{
    size_t size = 0;
    key[size++] = (uint8_t)(tracked->level >> 8);
    key[size++] = (uint8_t)tracked->level;
    key[size++] = tracked->room;
    key[size++] = cell_of(tracked->x, cell_width);
    key[size++] = (uint8_t)(tracked->y / cell_height);
    /* The rooms of the held keys, ascending. */
    for (uint32_t slot = 0; slot < KEY_SLOTS; slot++) {
        if (tracked->slots[slot] == NO_KEY)
            continue;
        size_t at = size++;
        for (; at > 5 && key[at - 1] > tracked->slots[slot]; at--)
            key[at] = key[at - 1];
        key[at] = tracked->slots[slot];
    }
    return size;
}

static void store_montezuma(const Tracked *tracked, uint8_t *bytes)
{
    const uint8_t head[6] = {(uint8_t)(tracked->level >> 8), (uint8_t)tracked->level, tracked->room,
                             (uint8_t)(tracked->x >> 8), (uint8_t)tracked->x, tracked->y};
    memcpy(bytes, head, sizeof head);
    memcpy(bytes + sizeof head, tracked->slots, KEY_SLOTS);
}

static bool load_montezuma(Tracked *tracked, const uint8_t *bytes)
{
    *tracked = (Tracked){.level = (uint16_t)(bytes[0] << 8 | bytes[1]),
                         .room = bytes[2],
                         .x = (uint16_t)(bytes[3] << 8 | bytes[4]),
                         .y = bytes[5]};
    memcpy(tracked->slots, bytes + 6, KEY_SLOTS);
    return tracked->room < ROOM_COUNT;
}

/* ---- Pitfall ------------------------------------------------------------------------------------------------------- */

enum { PITFALL_ROOMS = 255, PITFALL_JUMP = 270, GROUND = 70, UNDERGROUND_ROOMS = 3 };

static void track_pitfall(Tracked *tracked, const Machine *machine)
{
    Character found = find_on_screen(machine);
    if (!found.visible)
        return;
    int32_t right = found.x - tracked->x;
    if (tracked->x != NO_POSITION && (right < -PITFALL_JUMP || right > PITFALL_JUMP)) {
        int32_t rooms = found.y < GROUND ? 1 : UNDERGROUND_ROOMS;
        tracked->room = (uint8_t)((tracked->room + PITFALL_ROOMS + (right < 0 ? rooms : -rooms)) % PITFALL_ROOMS);
    }
    tracked->x = (uint16_t)found.x;
    tracked->y = (uint8_t)found.y;
}

static size_t pitfall_key(const Tracked *tracked, uint32_t cell_width, uint32_t cell_height, uint8_t *key)
{
    key[0] = tracked->room;
    key[1] = cell_of(tracked->x, cell_width);
    key[2] = (uint8_t)(tracked->y / cell_height);
    return 3;
}

static void store_pitfall(const Tracked *tracked, uint8_t *bytes)
{
    const uint8_t all[PITFALL_STATE] = {tracked->room, (uint8_t)(tracked->x >> 8), (uint8_t)tracked->x, tracked->y};
    memcpy(bytes, all, sizeof all);
}

static bool load_pitfall(Tracked *tracked, const uint8_t *bytes)
{
    *tracked = (Tracked){.room = bytes[0], .x = (uint16_t)(bytes[1] << 8 | bytes[2]), .y = bytes[3]};
    return tracked->room < PITFALL_ROOMS;
}

#endif
