/* Random cartridges, states and inputs for the Atari core and the exploration kernel, to be run under sanitizers.
 *
 *     fuzz SECONDS SEED             plays random cartridges
 *     fuzz SECONDS SEED GAME ROM    plays one, translated against interpreted; compiled with -DTRANSLATED
 *     fuzz rom SEED SIZE            writes a random ROM
 *     fuzz play GAME ROM            plays the actions that it reads, writes the state and the screen after each;
 *                                   compiled with -DTRANSLATED, it plays the translation
 *
 * Whatever a ROM or a snapshot holds, the core stays within its bounds, ends every frame, and leaves a state that it
 * would take back; what a frame leaves behind depends on that state and on the input alone.
 */
#include <stdio.h>
#include <time.h>

#include "atari/boot.h"
#include "atari/games.h"
#include "explore/kernel.h"

static uint64_t stream, rounds, frames, faults, restores, refusals, explorations, known_cells;

#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: round %llu: %s\n", __FILE__, __LINE__, (unsigned long long)rounds, #condition);    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

static uint32_t below(uint32_t limit)
{
    return draw_below(&stream, limit);
}

static bool one_in(uint32_t count)
{
    return below(count) == 0;
}

static void fill(void *bytes, size_t size)
{
    for (size_t at = 0; at < size; at++)
        ((uint8_t *)bytes)[at] = (uint8_t)below(256);
}

/* ---- cartridges ---------------------------------------------------------------------------------------------------- */

enum { MAX_ROM = 16384 };

/* Code that does what games do, more often than random bytes would. */
static size_t write_snippet(uint8_t *code)
{
    const uint8_t value = (uint8_t)below(256), other = (uint8_t)below(256);
    const uint8_t snippets[][9] = {
        {4, 0xa9, value, 0x85, (uint8_t)below(TIA_REGISTERS)},  /* LDA # STA zero */
        {4, 0xa2, value, 0x95, (uint8_t)below(TIA_REGISTERS)},  /* LDX # STA zero,X */
        {4, 0xa0, value, 0x84, (uint8_t)(GRP0 + below(5))},     /* LDY # STY zero */
        {4, 0xa9, value, 0x85, (uint8_t)(RESP0 + below(5))},
        {2, 0x85, WSYNC},
        {4, 0x85, WSYNC, 0x85, HMOVE},
        {8, 0xa9, 2, 0x85, VSYNC, 0x85, WSYNC, 0x85, WSYNC},
        {4, 0xa9, 0, 0x85, VSYNC},
        {4, 0xa9, (uint8_t)(value & BLANKING), 0x85, VBLANK},
        {5, 0xa9, value, 0x8d, (uint8_t)(0x94 + below(4)), 2},  /* LDA # STA TIM */
        {5, 0xad, 0x84, 2, 0xd0, 0xfb},                         /* LDA INTIM BNE */
        {3, 0xad, (uint8_t)(0x80 + below(8)), 2},               /* LDA of the RIOT */
        {2, 0xa5, (uint8_t)below(16)},                          /* LDA of collisions and triggers */
        {3, 0xad, (uint8_t)(0xe0 + below(32)), 0x1f},           /* LDA of what may switch banks */
        {3, 0x1d, value, 0x1f},                                 /* ORA absolute,X */
        {4, 0xa2, value, 0xf8, 0x9a},                           /* LDX # SED TXS */
        {4, 0x69, value, 0xe9, other},                          /* ADC # SBC # */
        /* From here on, few programs survive for long. */
        {3, 0x20, value, (uint8_t)(0xf0 | other)},              /* JSR */
        {2, (uint8_t)(below(8) << 5 | 0x10), (uint8_t)(0xf0 + below(32))}, /* a branch, not far */
        {1, 0x60},
        {3, value, other, (uint8_t)below(256)},
    };
    enum { SNIPPETS = sizeof snippets / sizeof *snippets, WILD = 4 };
    const uint8_t *snippet = snippets[below(one_in(8) ? SNIPPETS : SNIPPETS - WILD)];
    memcpy(code, snippet + 1, snippet[0]);
    return snippet[0];
}

static void write_rom(uint8_t *rom, size_t size)
{
    fill(rom, size);
    if (one_in(4))
        return;
    for (size_t at = 0; at + 16 < size;) {
        at += write_snippet(rom + at);
        if (at % SLICE_SIZE > SLICE_SIZE - 64)
            at += 64; /* the end of a bank: vectors, and whatever */
    }
    for (size_t end = SLICE_SIZE; end <= size; end += SLICE_SIZE) {
        memcpy(rom + end - 40, (const uint8_t[]){0x4c, (uint8_t)below(256), (uint8_t)(0xf0 | below(16))}, 3); /* JMP */
        rom[end - 3] = (uint8_t)(0xf0 | below(16)); /* the high bytes of both vectors */
        rom[end - 1] = (uint8_t)(0xf0 | below(16));
    }
}

static Cartridge insert_rom(const uint8_t *rom, size_t size, bool slices)
{
    Cartridge cartridge;
    CHECK(identify_cartridge(&cartridge, size, slices));
    cartridge.views = malloc((size_t)cartridge.view_count * VIEW_SIZE);
    CHECK(cartridge.views != NULL);
    lay_out_views(&cartridge, rom, size);
    return cartridge;
}

static Cartridge random_cartridge(void)
{
    static const size_t sizes[] = {2048, 4096, 8192, MAX_ROM};
    uint8_t rom[MAX_ROM];
    const size_t size = sizes[below(4)];
    write_rom(rom, size);
    return insert_rom(rom, size, one_in(2));
}

/* ---- machines ------------------------------------------------------------------------------------------------------ */

static Machine *new_machine(const Cartridge *cartridge, const Game *game, RunFrame *run_frame)
{
    Machine *machine = calloc(1, sizeof *machine);
    CHECK(machine != NULL);
    machine->cartridge = cartridge;
    machine->run_frame = run_frame;
    machine->wanted = game->collisions;
    power_on(machine);
    fill(machine->state.ram, sizeof machine->state.ram);
    return machine;
}

static void check_machine(const Machine *machine)
{
    const State *state = &machine->state;
    CHECK(state->cycle >= 0 && state->cycle < LINE_CYCLES);
    CHECK(state->view < machine->cartridge->view_count);
    CHECK(machine->rom == machine->cartridge->views[state->view]);
    CHECK(state->c <= 1 && state->v <= 1 && state->d <= 1 && state->i <= 1 && state->over <= 1);
    for (uint32_t object = P0; object <= BL; object++)
        CHECK(state->position[object] < SCREEN_WIDTH);
    CHECK(!(state->pending & ~(PENDING_OBJECTS | PENDING_BLANK)));
}

/* Bytes as a snapshot may have them after an accident: some changed, some fields at an extreme. */
static void damage(void *bytes, size_t size)
{
    static const int32_t extremes[] = {INT32_MIN, INT32_MAX,         -(1 << 29) + 1,  (1 << 29) - 1, -1,
                                       0,         LINE_CYCLES - 1, LINE_CYCLES, -(1 << 28) - 1};
    for (uint32_t times = below(4); times > 0; times--)
        ((uint8_t *)bytes)[below((uint32_t)size)] = (uint8_t)below(256);
    if (one_in(3)) {
        const int32_t extreme = extremes[below(sizeof extremes / sizeof *extremes)];
        memcpy((uint8_t *)bytes + below((uint32_t)size / 4) * 4, &extreme, sizeof extreme);
    }
    if (one_in(20))
        fill(bytes, size);
}

static bool damage_machine(Machine *machine)
{
    State state = machine->state;
    damage(&state, sizeof state);
    const bool restored = restore_state(machine, &state, sizeof state - one_in(50));
    restores += restored;
    refusals += !restored;
    return restored;
}

/* Play one machine on, and another one from its snapshot: drawn or not, by whichever program, it is the same game. */
static void play_both(Machine *one, Machine *other, const Game *game, uint32_t count)
{
    for (one->fault = 0; count > 0 && !one->fault; count--) {
        const uint32_t action = below(ACTIONS);
        const bool reset = one_in(50), drawing = one_in(2), drawing_too = one_in(2);
        CHECK(restore_state(other, &one->state, sizeof(State)));
        memcpy(other->screen, one->screen, sizeof one->screen); /* short frames leave some of it as it was */
        play_frame(one, game, action, reset, drawing);
        play_frame(other, game, action, reset, drawing_too);
        look(&one->state, game);
        look(&other->state, game);
        check_machine(one);
        CHECK(!one->fault == !other->fault);
        if (!one->fault) {
            CHECK(memcmp(&one->state, &other->state, sizeof(State)) == 0);
            CHECK(drawing != drawing_too || memcmp(one->screen, other->screen, sizeof one->screen) == 0);
        }
        frames++;
        faults += one->fault != 0;
    }
}

/* Random code seldom gets far: begin somewhere, if possible where it does. */
static void begin_somewhere(Machine *machine, const Game *game)
{
    for (uint32_t tries = 20; tries > 0; tries--) {
        machine->fault = 0;
        machine->state.pc = (uint16_t)(0xf000 | below(VIEW_SIZE));
        for (uint32_t count = 5; count > 0 && !machine->fault; count--)
            play_frame(machine, game, NOOP, false, false);
        if (!machine->fault)
            return;
    }
}

static void play_random_cartridge(void)
{
    static uint8_t visited[CODE_SIZE];
    Cartridge cartridge = random_cartridge();
    const Game game = {.look = GAMES[below(GAME_COUNT)]->look,
                       .ignores_trigger = one_in(5),
                       .collisions = (uint16_t)(one_in(2) ? ALL_PAIRS : below(ALL_PAIRS))};
    Machine *one = new_machine(&cartridge, &game, interpret_frame);
    Machine *other = new_machine(&cartridge, &game, one_in(2) ? interpret_frame : trace_frame);
    other->visited = visited;
    for (uint32_t times = below(20); times > 0; times--) {
        begin_somewhere(one, &game);
        play_both(one, other, &game, below(40));
        damage_machine(one);
    }
    CHECK(one->visited == NULL && one->cartridge == &cartridge && other->visited == visited);
    free(one);
    free(other);
    free(cartridge.views);
}

/* ---- explorations -------------------------------------------------------------------------------------------------- */

enum { SLOTS = 64, MAX_ENTRIES = SLOTS / 2 };

typedef struct {
    int32_t slots[SLOTS], lengths[MAX_ENTRIES], size;
    uint64_t digests[2 * MAX_ENTRIES];
    double scores[MAX_ENTRIES];
} Known;

/* Put some of the cells that were seen into the score index, with any score and length. */
static void learn(Known *known, const Explorer *explorer)
{
    for (size_t visit = 1; visit < explorer->visited.size && known->size < MAX_ENTRIES; visit++) {
        const Digest cell = explorer->visited.cells[visit];
        size_t slot = cell.low & (SLOTS - 1);
        if (explorer->visits[visit].number != UNKNOWN || one_in(2))
            continue;
        while (known->slots[slot] != UNKNOWN)
            slot = (slot + 1) & (SLOTS - 1);
        known->slots[slot] = known->size;
        known->digests[2 * known->size] = cell.low;
        known->digests[2 * known->size + 1] = cell.high;
        known->scores[known->size] = (double)below(200) - 100;
        known->lengths[known->size++] = (int32_t)below(1000);
    }
}

static void explore_random_cartridge(void)
{
    Cartridge cartridge = random_cartridge();
    const Game game = {.look = GAMES[below(GAME_COUNT)]->look, .collisions = ALL_PAIRS};
    Explorer *explorer = calloc(1, sizeof *explorer);
    Machine *machine = new_machine(&cartridge, &game, interpret_frame);
    CHECK(explorer != NULL);
    begin_somewhere(machine, &game);
    explorer->machine = *machine;
    explorer->game = &game;
    explorer->kind = (CellsKind)below(4);
    explorer->cell_width = 2 + below(are_downscaled(explorer->kind) ? SCREEN_WIDTH - 1 : 400);
    explorer->cell_height = 1 + below(SCREEN_HEIGHT);
    explorer->frame_skip = 1 + below(4);
    explorer->limit = 1 + below(30);
    explorer->repeat = draw_word(&stream) >> 31;
    explorer->action_count = 1 + below(ACTIONS);
    for (uint32_t action = 0; action < explorer->action_count; action++)
        explorer->actions[action] = (uint8_t)below(ACTIONS);
    explorer->ends_at_life_loss = one_in(2);
    explorer->score_limit = one_in(2) ? 1000000 : 0;
    explorer->room_address = (int32_t)below(129) - 1;
    explorer->level_address = (int32_t)below(129) - 1;
    for (uint32_t colour = 0; colour < 256; colour++)
        explorer->grey[colour] = (int16_t)below(256);
    CHECK(explorer_begin(explorer, 1 + below(255)));
    Known known = {.size = 0};
    memset(known.slots, 0xff, sizeof known.slots);
    const ScoreIndex score_index = {.slots = known.slots, .slot_count = SLOTS, .digests = known.digests,
                         .scores = known.scores, .lengths = known.lengths};
    const size_t most = explorer->max_snapshot;
    uint8_t *snapshot = malloc(most), cell[88];
    CHECK(snapshot != NULL);
    fill(cell, sizeof cell);
    size_t size = explorer_snapshot(explorer, snapshot);
    for (int64_t order = 1; order <= 10; order++) {
        if (explorer->candidate_count > 0 && one_in(2)) {
            const uint32_t chosen = below((uint32_t)explorer->candidate_count);
            size = explorer->candidates[chosen].snapshot_size;
            memcpy(snapshot, explorer->snapshots + chosen * most, size);
        }
        if (one_in(3))
            damage(snapshot + below(2) * SNAPSHOT_HEAD, size - SNAPSHOT_HEAD);
        const Task task = {.order = one_in(9) ? 1 : order, .stream = draw_word(&stream), .snapshot = snapshot,
                           .snapshot_size = size - one_in(50), .cell = cell, .cell_size = below(sizeof cell + 1),
                           .number = UNKNOWN, .sampled = below(30)};
        if (explore(explorer, &task, &score_index) != EXPLORED)
            continue;
        explorations++;
        check_machine(&explorer->machine);
        CHECK(explorer->played >= explorer->taken_count && explorer->played <= explorer->limit);
        CHECK(explorer->visited.size <= explorer->taken_count + 1 && explorer->candidate_count <= explorer->visited.size);
        for (size_t visit = 1; visit < explorer->visited.size; visit++)
            CHECK(explorer->visits[visit].number < known.size);
        for (size_t candidate = 0; candidate < explorer->candidate_count; candidate++)
            CHECK(explorer_restore(explorer, explorer->snapshots + candidate * most,
                                   explorer->candidates[candidate].snapshot_size));
        known_cells += (uint64_t)known.size;
        if (order % 3 == 0)
            learn(&known, explorer);
    }
    explorer_free(explorer);
    free(snapshot);
    free(machine);
    free(explorer);
    free(cartridge.views);
}

/* ---- a game -------------------------------------------------------------------------------------------------------- */

static const Game *known_game(const char *name)
{
    const Game *game = find_game(name);
    CHECK(game != NULL);
    return game;
}

static Cartridge insert_file(const char *file, const Game *game)
{
    uint8_t rom[MAX_ROM];
    FILE *stored = fopen(file, "rb");
    CHECK(stored != NULL);
    const size_t size = fread(rom, 1, sizeof rom, stored);
    fclose(stored);
    return insert_rom(rom, size, game->slices);
}

#ifdef TRANSLATED
RunFrame run_frame;
void prepare(void);

static void play_translated(const char *name, const char *file)
{
    const Game *game = known_game(name);
    Cartridge cartridge = insert_file(file, game);
    prepare();
    Machine *one = new_machine(&cartridge, game, interpret_frame), *other = new_machine(&cartridge, game, run_frame);
    boot(one, game);
    for (uint32_t times = 10; times > 0; times--) {
        if (one->fault || one_in(4))
            begin_somewhere(one, game);
        play_both(one, other, game, below(20));
        if (one_in(2))
            damage_machine(one);
    }
    free(one);
    free(other);
    free(cartridge.views);
}
#else
#define prepare()
static RunFrame *const run_frame = interpret_frame;
#endif

static void play_actions(const char *name, const char *file)
{
    const Game *game = known_game(name);
    Cartridge cartridge = insert_file(file, game);
    prepare();
    Machine *machine = new_machine(&cartridge, game, interpret_frame);
    boot(machine, game);
    machine->run_frame = run_frame;
    CHECK(restore_state(machine, &machine->state, sizeof machine->state)); /* faults before do not count */
    for (int action; (action = getchar()) != EOF;) {
        play(machine, game, (uint32_t)action, 4);
        CHECK(!machine->fault);
        fwrite(&machine->state, sizeof machine->state, 1, stdout);
        fwrite(machine->screen, sizeof machine->screen, 1, stdout);
    }
    free(machine);
    free(cartridge.views);
}

static void write_random_rom(size_t size)
{
    uint8_t rom[MAX_ROM];
    CHECK(size <= sizeof rom);
    write_rom(rom, size);
    fwrite(rom, 1, size, stdout);
}

int main(int count, char **arguments)
{
    CHECK(count >= 3);
    make_tia_tables();
    if (strcmp(arguments[1], "play") == 0) {
        play_actions(arguments[2], arguments[3]);
        return 0;
    }
    const uint64_t seed = stream = strtoull(arguments[2], NULL, 10) << 32;
    if (strcmp(arguments[1], "rom") == 0) {
        write_random_rom((size_t)atoi(arguments[3]));
        return 0;
    }
    for (const time_t end = time(NULL) + atoi(arguments[1]); time(NULL) < end; rounds++) {
        stream = seed + rounds;
#ifdef TRANSLATED
        play_translated(arguments[3], arguments[4]);
#else
        play_random_cartridge();
        explore_random_cartridge();
#endif
    }
    printf("%llu rounds, %llu frames, %llu of them with a fault, %llu damaged states taken, %llu refused, "
           "%llu explorations, %llu known cells before them\n",
           (unsigned long long)rounds, (unsigned long long)frames, (unsigned long long)faults,
           (unsigned long long)restores, (unsigned long long)refusals, (unsigned long long)explorations,
           (unsigned long long)known_cells);
    return 0;
}
