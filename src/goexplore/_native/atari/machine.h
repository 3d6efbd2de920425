/* An Atari 2600, made for searching: what its chips share.
 *
 * The chips are headers of static functions (m6507.h, tia.h, riot.h, cartridge.h), so that whoever runs frames, the
 * interpreter or a ROM translated to C, is compiled as one piece with them.
 *
 * The judge is ale-py: the same memory, reward and lives at every frame, the same screen. Where games were never seen
 * to depend on a behaviour of the hardware, it is not modelled but reported as a fault: this core refuses rather than
 * guesses. There is no sound.
 */
#ifndef GOEXPLORE_MACHINE_H
#define GOEXPLORE_MACHINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#if defined(__GNUC__)
#define LIKELY(condition) __builtin_expect(!!(condition), 1)
#define UNLIKELY(condition) __builtin_expect(!!(condition), 0)
#define NEVER_INLINE __attribute__((noinline))
#define ALWAYS_INLINE inline __attribute__((always_inline))
#define UNUSED __attribute__((unused))
#else
#define LIKELY(condition) (condition)
#define UNLIKELY(condition) (condition)
#define NEVER_INLINE
#define ALWAYS_INLINE inline
#define UNUSED
#endif

enum {
    SCREEN_WIDTH = 160,
    SCREEN_HEIGHT = 210,
    FIRST_LINE = 34,         /* the line of a frame that ale-py shows as its first row */
    LINE_CYCLES = 76,        /* processor cycles per line */
    LINE_CLOCKS = 228,       /* colour clocks per line, three per cycle */
    BLANK_CLOCKS = 68,       /* of these, before the first pixel */
    MAX_LINES = 290,         /* a frame that the game does not end is ended here */
    MAX_FRAME_CYCLES = 1 << 18, /* and a game that writes nothing to the TIA for this long hangs */
};

enum { NO_DEADLINE = INT32_MAX };

/* Why the core refuses to go on: bits of `Machine.fault`, and the same in words. */
enum { FAULT_OPCODE = 1, FAULT_ADDRESS = 2, FAULT_MISSILE = 4, FAULT_HANG = 8, FAULT_COLLISION = 16 };
#define FAULT_REASONS                                                                                                  \
    {"an instruction that stops the processor or is not emulated", "code outside the cartridge",                       \
     "a missile that moves by itself", "a frame that does not end in time",                                            \
     "a collision read that the game was not known to read"}

enum { TIA_REGISTERS = 0x2a }; /* the last three that exist are strobes, of which there is nothing to keep */

/* Everything that outlives a frame: a snapshot is a copy of this. Whoever changes it gives it another number. */
enum { STATE_LAYOUT = 2, STATE_SIZE = 224 };

typedef struct {
    uint8_t ram[128];
    /* 6507. Flags as the last result left them: negative is bit 7 of `n`, zero is `z == 0`. */
    uint16_t pc;
    uint8_t a, x, y, sp, n, z, c, v, d, i;
    /* The time is `cycle`, counted from the beginning of the line in which the frame began. */
    int32_t cycle;
    /* Cartridge */
    uint16_t view; /* which banks are visible: an index of Cartridge.views */
    /* RIOT */
    uint8_t timer_value, timer_shift;
    int32_t timer_set;   /* when the timer was set */
    int32_t timer_again; /* when it was first read after it ran out, or NO_DEADLINE */
    /* TIA */
    int32_t vsync_end;   /* from when on the end of VSYNC ends the frame, in colour clocks, or NO_DEADLINE */
    uint16_t collisions; /* bits as in tia.h */
    uint8_t registers[TIA_REGISTERS];
    uint8_t old_pattern[2]; /* what a player shows while its vertical delay is on */
    uint8_t old_ball;
    uint8_t position[5]; /* of players, missiles and ball */
    uint8_t pending;     /* what lasts until a line is drawn: bits as in tia.h */
    /* What ale-py would say of the game */
    uint8_t lives, over;
    uint8_t layout;  /* STATE_LAYOUT */
    int32_t counter; /* the score in the game's memory, where ale-py takes it for less or more than was won */
    int32_t score;
} State;

/* No padding: all bytes of a snapshot mean something, and equal states are equal bytes. */
_Static_assert(offsetof(State, pc) == 128 && offsetof(State, cycle) == 140 && offsetof(State, view) == 144 &&
                   offsetof(State, timer_set) == 148 && offsetof(State, collisions) == 160 &&
                   offsetof(State, registers) == 162 && offsetof(State, position) == 207 &&
                   offsetof(State, lives) == 213 && offsetof(State, counter) == 216 && offsetof(State, score) == 220 &&
                   sizeof(State) == STATE_SIZE,
               "a state's bytes are where snapshots have them");

typedef struct {
    uint64_t word[3]; /* pixel x of a line is bit x % 64 of word x / 64 */
} Mask;

enum { MAX_VIEWS = 512, VIEW_SIZE = 4096 };

typedef enum { CARTRIDGE_PLAIN, CARTRIDGE_BANKS, CARTRIDGE_SLICES } CartridgeKind;

/* A ROM, and the views of it that its bank switching can show in the processor's upper 4 kB. */
typedef struct {
    CartridgeKind kind;
    uint16_t hot_first, hot_count; /* addresses (of 4 kB) whose access switches banks */
    uint16_t power_on_view, view_count;
    uint8_t (*views)[VIEW_SIZE];
} Cartridge;

typedef struct Machine Machine;
typedef void RunFrame(Machine *machine);

struct Machine {
    State state;
    const Cartridge *cartridge;
    const uint8_t *rom; /* the visible view */
    RunFrame *run_frame;
    uint32_t fault;
    /* Input */
    uint8_t directions, switches, trigger;
    /* TIA: what can be computed again from the state */
    bool drawing; /* whether this frame's pixels are wanted */
    uint8_t dirty;   /* objects whose mask is out of date */
    uint8_t present; /* objects that have any pixel */
    uint8_t moving;  /* objects that HMOVE would move */
    uint8_t shown[2]; /* the players' patterns */
    uint16_t wanted;  /* collisions that the game reads */
    uint8_t watch[6], all_watch[6]; /* per object: those whose collision with it would be news */
    int32_t collided;    /* the colour clocks up to which collisions are noted, */
    int32_t drawn;       /* and up to which the frame is drawn, or NO_DEADLINE where it is not wanted */
    int32_t pending_end; /* the colour clock at which what is pending of players and playfield ends, or NO_DEADLINE */
    int32_t hmove_clock; /* that of the last HMOVE, and of the last one that blanks a line */
    int32_t blank_clock;
    Mask masks[6];
    uint8_t *visited; /* for translation: marks code that ran, or NULL */
    uint8_t screen[SCREEN_HEIGHT][SCREEN_WIDTH]; /* palette indices */
};

#endif
