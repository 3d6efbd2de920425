/* Cartridges: what the processor sees in its upper 4 kB.
 *
 * - plain: 2 kB (twice) or 4 kB
 * - banks (Atari's F8 and F6): 8 or 16 kB, 4 kB visible at a time; access to one of the addresses from FF8 (FF6) on
 *   selects a bank
 * - slices (Parker Brothers' E0): 8 kB, four slices of 1 kB; access to FE0-FE7, FE8-FEF, FF0-FF7 selects the bank in
 *   the first, second, third slice; the fourth always shows the last bank
 *
 * All possible views are laid out in memory beforehand, so a switch is a change of pointer.
 */
#ifndef GOEXPLORE_CARTRIDGE_H
#define GOEXPLORE_CARTRIDGE_H

#include "machine.h"

enum { SLICE_SIZE = 1024, SLICE_BANKS = 8 };

/* A translated ROM knows its own cartridge. */
#ifndef HOT_FIRST
#define CARTRIDGE_KIND machine->cartridge->kind
#define HOT_FIRST machine->cartridge->hot_first
#define HOT_COUNT machine->cartridge->hot_count
#endif

static inline uint16_t view_after(const Machine *machine, uint32_t address)
{
    uint32_t hot = (address & (VIEW_SIZE - 1)) - HOT_FIRST;
    if (CARTRIDGE_KIND == CARTRIDGE_BANKS)
        return (uint16_t)hot;
    uint32_t shift = 3 * (hot >> 3);
    return (uint16_t)((machine->state.view & ~(7u << shift)) | (hot & 7) << shift);
}

static inline bool is_hot(const Machine *machine, uint32_t address)
{
    (void)machine;
    return (address & (VIEW_SIZE - 1)) - HOT_FIRST < HOT_COUNT;
}

static inline void show_view(Machine *machine, uint16_t view)
{
    machine->state.view = view;
    machine->rom = machine->cartridge->views[view];
}

/* Fill in all but `views`; return false for a ROM of a kind that is not supported. */
static UNUSED bool identify_cartridge(Cartridge *cartridge, size_t size, bool slices)
{
    memset(cartridge, 0, sizeof *cartridge);
    cartridge->view_count = 1;
    cartridge->hot_first = VIEW_SIZE;
    if (size == 2048 || size == 4096)
        return true;
    if (size == 8192 && slices) {
        *cartridge = (Cartridge){.kind = CARTRIDGE_SLICES,
                                 .hot_first = 0xfe0,
                                 .hot_count = 24,
                                 .power_on_view = 4 | 5 << 3 | 6 << 6,
                                 .view_count = MAX_VIEWS};
        return true;
    }
    if (size == 8192 || size == 16384) {
        uint16_t banks = (uint16_t)(size / VIEW_SIZE);
        *cartridge = (Cartridge){.kind = CARTRIDGE_BANKS,
                                 .hot_first = (uint16_t)(size == 8192 ? 0xff8 : 0xff6),
                                 .hot_count = banks,
                                 .power_on_view = size == 8192 ? 1 : 0,
                                 .view_count = banks};
        return true;
    }
    return false;
}

static UNUSED void lay_out_views(Cartridge *cartridge, const uint8_t *rom, size_t size)
{
    for (uint32_t view = 0; view < cartridge->view_count; view++) {
        uint8_t *visible = cartridge->views[view];
        if (cartridge->kind == CARTRIDGE_SLICES)
            for (uint32_t slice = 0; slice < 4; slice++) {
                uint32_t bank = slice == 3 ? SLICE_BANKS - 1 : view >> 3 * slice & 7;
                memcpy(visible + slice * SLICE_SIZE, rom + bank * SLICE_SIZE, SLICE_SIZE);
            }
        else if (size < VIEW_SIZE)
            for (size_t at = 0; at < VIEW_SIZE; at += size)
                memcpy(visible + at, rom, size);
        else
            memcpy(visible, rom + view * VIEW_SIZE, VIEW_SIZE);
    }
}

#endif
