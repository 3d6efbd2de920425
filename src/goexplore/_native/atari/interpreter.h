/* Runs a game's code straight from its cartridge: works for every ROM, and stands in where translated code has a gap. */
#ifndef GOEXPLORE_INTERPRETER_H
#define GOEXPLORE_INTERPRETER_H

#include "m6507.h"

#define LENGTH_implied 1
#define LENGTH_immediate 2
#define LENGTH_relative 2
#define LENGTH_zero 2
#define LENGTH_zero_x 2
#define LENGTH_zero_y 2
#define LENGTH_indirect_x 2
#define LENGTH_indirect_y 2
#define LENGTH_absolute 3
#define LENGTH_absolute_x 3
#define LENGTH_absolute_y 3

#define FETCH(at) rom[(at) & (VIEW_SIZE - 1)]

#define TIA_WRITE_KNOWN tia_write_any

#define INTERPRET_READ READ
#define INTERPRET_WRITE WRITE
#define INTERPRET_MODIFY MODIFY
#define INTERPRET_ACCUMULATOR ACCUMULATOR
#define INTERPRET_IMPLIED IMPLIED
#define INTERPRET_PUSH PUSH
#define INTERPRET_PULL PULL
#define INTERPRET_BRANCH(operation, mode, cycles, operand, next)                                                       \
    do {                                                                                                               \
        cycle += cycles;                                                                                               \
        if (m6507_##operation(&cpu)) {                                                                                 \
            cycle += BRANCH_CYCLES(operand, pc);                                                                       \
            pc = BRANCH_TARGET(operand, pc);                                                                           \
            landed = true;                                                                                             \
        }                                                                                                              \
    } while (0)
#define INTERPRET_JUMP(operation, mode, cycles, operand, next)                                                         \
    do {                                                                                                               \
        cycle += cycles;                                                                                               \
        pc = operand;                                                                                                  \
        landed = true;                                                                                                 \
    } while (0)
#define INTERPRET_JUMP_INDIRECT(operation, mode, cycles, operand, next)                                                \
    do {                                                                                                               \
        PC_FROM(cycles, operand);                                                                                      \
        landed = true;                                                                                                 \
    } while (0)
#define INTERPRET_CALL(operation, mode, cycles, operand, next)                                                         \
    do {                                                                                                               \
        CALL_CYCLES_AND_STACK(cycles, pc);                                                                             \
        pc = operand;                                                                                                  \
        landed = true;                                                                                                 \
    } while (0)
#define INTERPRET_RETURN(operation, mode, cycles, operand, next)                                                       \
    do {                                                                                                               \
        cycle += cycles;                                                                                               \
        PULL_PC(1);                                                                                                    \
        landed = true;                                                                                                 \
    } while (0)
#define INTERPRET_RETURN_INTERRUPT(operation, mode, cycles, operand, next)                                             \
    do {                                                                                                               \
        uint8_t flags_;                                                                                                \
        cycle += cycles;                                                                                               \
        PULL_BYTE(flags_);                                                                                             \
        m6507_PLP(&cpu, flags_);                                                                                       \
        PULL_PC(0);                                                                                                    \
        landed = true;                                                                                                 \
    } while (0)
#define INTERPRET_BREAK(operation, mode, cycles, operand, next)                                                        \
    do {                                                                                                               \
        CALL_CYCLES_AND_STACK(cycles, pc + 2);                                                                         \
        PUSH_BYTE(m6507_PHP(&cpu), pc);                                                                                \
        cpu.i = 1;                                                                                                     \
        pc = FETCH(0xfffe) | (uint32_t)FETCH(0xffff) << 8;                                                             \
        landed = true;                                                                                                 \
    } while (0)
#define INTERPRET_STOP(operation, mode, cycles, operand, next)                                                         \
    do {                                                                                                               \
        machine->fault |= FAULT_OPCODE;                                                                                \
        goto end_of_frame;                                                                                             \
    } while (0)

#define INTERPRET(code, kind, operation, mode, cycles)                                                                 \
    case code: {                                                                                                       \
        const uint32_t operand = LENGTH_##mode == 3 ? low | (uint32_t)FETCH(pc + 2) << 8 : low;                        \
        pc = (pc + LENGTH_##mode) & 0xffff;                                                                            \
        (void)operand;                                                                                                 \
        INTERPRET_##kind(operation, mode, cycles, operand, pc);                                                        \
        break;                                                                                                         \
    }

enum { LDA_ABSOLUTE = 0xad, BNE_RELATIVE = 0xd0, BACK_TO_LDA = 0xfb };

/* Where a piece of code is: different banks at the same address are different code. */
static inline uint32_t code_index(const Machine *machine, uint32_t pc)
{
    const uint32_t view = machine->state.view;
    if (machine->cartridge->kind != CARTRIDGE_SLICES)
        return view * VIEW_SIZE + (pc & (VIEW_SIZE - 1));
    const uint32_t slice = pc >> 10 & 3, bank = slice == 3 ? SLICE_BANKS - 1 : view >> 3 * slice & 7;
    return (slice * SLICE_BANKS + bank) * SLICE_SIZE + (pc & (SLICE_SIZE - 1));
}
enum { CODE_SIZE = 4 * SLICE_BANKS * SLICE_SIZE };
enum { CODE_RAN = 1, CODE_LANDED = 2 };

/* Run one instruction, or all up to the end of the frame; return whether the frame has ended. */
static inline bool interpret(Machine *machine, const bool one, const bool tracing)
{
    bool ended = false, landed = true; /* whether this instruction was jumped to from anywhere */
    LOAD_REGISTERS;
    do {
        if (UNLIKELY(cycle >= MAX_FRAME_CYCLES || !(pc & 0x1000))) {
            machine->fault |= pc & 0x1000 ? FAULT_HANG : FAULT_ADDRESS;
            goto end_of_frame;
        }
        if (tracing) {
            machine->visited[code_index(machine, pc)] |= landed || switched ? CODE_RAN | CODE_LANDED : CODE_RAN;
            landed = switched = false;
        }
        const uint8_t opcode = FETCH(pc);
        const uint32_t low = FETCH(pc + 1);
        if (opcode == LDA_ABSOLUTE && low == (INTIM & 0xff) && FETCH(pc + 2) == INTIM >> 8 &&
            FETCH(pc + 3) == BNE_RELATIVE && FETCH(pc + 4) == BACK_TO_LDA)
            SKIP_WAITING(6 + BRANCH_CYCLES(BACK_TO_LDA, pc + 5));
        switch (opcode) {
            FOR_EACH_INSTRUCTION(INTERPRET)
        }
    } while (!one);
    goto leave;
end_of_frame:
    ended = true;
leave:
    STORE_REGISTERS;
    return ended;
}

static NEVER_INLINE UNUSED bool interpret_one(Machine *machine)
{
    return interpret(machine, true, false);
}

static NEVER_INLINE UNUSED void interpret_frame(Machine *machine)
{
    interpret(machine, false, false);
}

static NEVER_INLINE UNUSED void trace_frame(Machine *machine)
{
    interpret(machine, false, true);
}

#undef TIA_WRITE_KNOWN

#endif
