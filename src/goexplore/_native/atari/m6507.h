/* 6507: what each instruction does, as macros over local variables.
 *
 * Two programs are made of them: the interpreter (interpreter.h), which takes operands from the cartridge, and ROMs
 * translated to C, which have them as constants, so that the compiler can see through the addressing. Either provides a
 * label `end_of_frame`; translated code also `dispatch`, which goes on at `pc`.
 *
 * As in ale-py, an instruction's access to the bus happens at the end of its last cycle.
 */
#ifndef GOEXPLORE_M6507_H
#define GOEXPLORE_M6507_H

#include "cartridge.h"
#include "instructions.h"
#include "machine.h"
#include "riot.h"
#include "tia.h"

/* ---- registers in local variables ---------------------------------------------------------------------------------- */

#define LOAD_REGISTERS                                                                                                 \
    State *const state = &machine->state;                                                                              \
    uint32_t pc = state->pc;                                                                                           \
    uint8_t a = state->a, x = state->x, y = state->y, sp = state->sp, n = state->n, z = state->z, c = state->c,        \
            v = state->v, d = state->d, i = state->i;                                                                  \
    int32_t cycle = state->cycle;                                                                                      \
    const uint8_t *rom = machine->rom;                                                                                 \
    bool switched = false; /* whether the last instruction switched banks */                                           \
    (void)switched

#define STORE_REGISTERS                                                                                                \
    state->pc = (uint16_t)pc;                                                                                          \
    state->a = a, state->x = x, state->y = y, state->sp = sp, state->n = n, state->z = z, state->c = c;                \
    state->v = v, state->d = d, state->i = i;                                                                          \
    state->cycle = cycle

/* ---- the bus ------------------------------------------------------------------------------------------------------- */

/* Thirteen address lines: the cartridge where A12 is set, else the RIOT where A7 is set (its RAM where A9 is not), else
 * the TIA. In the zero page and on the stack, A12 and A9 are 0. */

#define SWITCH_BANK(address)                                                                                           \
    do {                                                                                                               \
        show_view(machine, view_after(machine, address));                                                              \
        rom = machine->rom;                                                                                            \
        switched = true;                                                                                               \
    } while (0)

#define READ_ZERO(address, into)                                                                                       \
    do {                                                                                                               \
        if (LIKELY((address) & 0x80))                                                                                  \
            into = state->ram[(address) & 0x7f];                                                                       \
        else                                                                                                           \
            into = tia_read(machine, address, address, cycle);                                                         \
    } while (0)

#define READ_BUS(address, into)                                                                                        \
    do {                                                                                                               \
        if ((address) & 0x1000) {                                                                                      \
            if (UNLIKELY(is_hot(machine, address)))                                                                    \
                SWITCH_BANK(address);                                                                                  \
            into = rom[(address) & 0xfff];                                                                             \
        } else if (!((address) & 0x80))                                                                                \
            into = tia_read(machine, address, (address) >> 8, cycle);                                                  \
        else if ((address) & 0x200)                                                                                    \
            into = riot_read(machine, address, cycle);                                                                 \
        else                                                                                                           \
            into = state->ram[(address) & 0x7f];                                                                       \
    } while (0)

/* WSYNC halts the processor until the end of the line. The frame ends when VSYNC is switched off after a line or more,
 * or when it has become too long. */
#define WRITE_TIA(address, value, next, write)                                                                              \
    do {                                                                                                               \
        const uint32_t number_ = (address) & 0x3f;                                                                     \
        if (number_ == WSYNC) {                                                                                        \
            cycle = (cycle + LINE_CYCLES - 1) / LINE_CYCLES * LINE_CYCLES;                                             \
            if (UNLIKELY(cycle >= MAX_LINES * LINE_CYCLES)) {                                                          \
                pc = next;                                                                                             \
                goto end_of_frame;                                                                                     \
            }                                                                                                          \
        } else if (number_ == VSYNC) {                                                                                 \
            if ((value) & 2)                                                                                           \
                state->vsync_end = 3 * cycle + LINE_CLOCKS;                                                            \
            else if (3 * cycle >= state->vsync_end) {                                                                  \
                state->vsync_end = NO_DEADLINE;                                                                        \
                pc = next;                                                                                             \
                goto end_of_frame;                                                                                     \
            }                                                                                                          \
        } else                                                                                                         \
            write(machine, number_, value, cycle);                                                                     \
    } while (0)

#define WRITE_ZERO(address, value, next, write)                                                                        \
    do {                                                                                                               \
        if (LIKELY((address) & 0x80))                                                                                  \
            state->ram[(address) & 0x7f] = value;                                                                      \
        else                                                                                                           \
            WRITE_TIA(address, value, next, write);                                                                    \
    } while (0)

#define WRITE_BUS(address, value, next, write)                                                                         \
    do {                                                                                                               \
        if ((address) & 0x1000) {                                                                                      \
            if (UNLIKELY(is_hot(machine, address)))                                                                    \
                SWITCH_BANK(address);                                                                                  \
        } else if (!((address) & 0x80))                                                                                \
            WRITE_TIA(address, value, next, write);                                                                    \
        else if ((address) & 0x200)                                                                                    \
            riot_write(machine, address, value, cycle);                                                                \
        else                                                                                                           \
            state->ram[(address) & 0x7f] = value;                                                                      \
    } while (0)

/* ---- addressing: declares `address`; `page_` is whether indexing crossed a page ------------------------------------- */

#define ADDRESS_zero(operand) const uint32_t address = (operand), page_ = 0
#define ADDRESS_zero_x(operand) const uint32_t address = (uint8_t)((operand) + x), page_ = 0
#define ADDRESS_zero_y(operand) const uint32_t address = (uint8_t)((operand) + y), page_ = 0
#define ADDRESS_absolute(operand) const uint32_t address = (operand), page_ = 0
#define ADDRESS_absolute_x(operand)                                                                                    \
    const uint32_t address = ((operand) + x) & 0xffff, page_ = (((operand) & 0xff) + x) >> 8
#define ADDRESS_absolute_y(operand)                                                                                    \
    const uint32_t address = ((operand) + y) & 0xffff, page_ = (((operand) & 0xff) + y) >> 8
#define POINTER_(where)                                                                                                \
    uint8_t low_, high_;                                                                                               \
    READ_ZERO((uint8_t)(where), low_);                                                                                 \
    READ_ZERO((uint8_t)((where) + 1), high_)
#define ADDRESS_indirect_x(operand)                                                                                    \
    POINTER_((operand) + x);                                                                                           \
    const uint32_t address = low_ | (uint32_t)high_ << 8, page_ = 0
#define ADDRESS_indirect_y(operand)                                                                                    \
    POINTER_(operand);                                                                                                 \
    const uint32_t address = ((low_ | (uint32_t)high_ << 8) + y) & 0xffff, page_ = (uint32_t)(low_ + y) >> 8

#define READ_AT_zero READ_ZERO
#define READ_AT_zero_x READ_ZERO
#define READ_AT_zero_y READ_ZERO
#define READ_AT_absolute READ_BUS
#define READ_AT_absolute_x READ_BUS
#define READ_AT_absolute_y READ_BUS
#define READ_AT_indirect_x READ_BUS
#define READ_AT_indirect_y READ_BUS
#define WRITE_AT_zero WRITE_ZERO
#define WRITE_AT_zero_x WRITE_ZERO
#define WRITE_AT_zero_y WRITE_ZERO
#define WRITE_AT_absolute WRITE_BUS
#define WRITE_AT_absolute_x WRITE_BUS
#define WRITE_AT_absolute_y WRITE_BUS
#define WRITE_AT_indirect_x WRITE_BUS
#define WRITE_AT_indirect_y WRITE_BUS

/* Who writes to a register of the TIA: where the operand alone tells which, translated code has its own copy. */
#define WRITER_zero TIA_WRITE_KNOWN
#define WRITER_zero_x tia_write_any
#define WRITER_zero_y tia_write_any
#define WRITER_absolute TIA_WRITE_KNOWN
#define WRITER_absolute_x tia_write_any
#define WRITER_absolute_y tia_write_any
#define WRITER_indirect_x tia_write_any
#define WRITER_indirect_y tia_write_any

/* ---- operations on `value` ------------------------------------------------------------------------------------------ */

#define RESULT(of) n = z = (of)
#define COMPARE(with)                                                                                                  \
    do {                                                                                                               \
        c = (with) >= value;                                                                                           \
        RESULT((uint8_t)((with) - value));                                                                             \
    } while (0)

static inline uint32_t from_decimal(uint32_t value)
{
    return (value >> 4) * 10 + (value & 15);
}

static inline uint32_t to_decimal(uint32_t value)
{
    return value / 10 % 10 << 4 | value % 10;
}

#define DO_ORA RESULT(a |= value)
#define DO_AND RESULT(a &= value)
#define DO_EOR RESULT(a ^= value)
#define DO_LDA RESULT(a = value)
#define DO_LDX RESULT(x = value)
#define DO_LDY RESULT(y = value)
#define DO_LAX RESULT(a = x = value)
#define DO_CMP COMPARE(a)
#define DO_CPX COMPARE(x)
#define DO_CPY COMPARE(y)
#define DO_BIT                                                                                                         \
    do {                                                                                                               \
        n = value;                                                                                                     \
        v = value >> 6 & 1;                                                                                            \
        z = a & value;                                                                                                 \
    } while (0)
#define DO_NOP (void)value
#define DO_ADC                                                                                                         \
    do {                                                                                                               \
        uint32_t sum_;                                                                                                 \
        if (UNLIKELY(d)) {                                                                                             \
            uint32_t decimal_ = from_decimal(a) + from_decimal(value) + c;                                             \
            sum_ = to_decimal(decimal_) | (decimal_ > 99 ? 0x100 : 0);                                                 \
        } else                                                                                                         \
            sum_ = (uint32_t)a + value + c;                                                                            \
        v = ((a ^ sum_) & (value ^ sum_)) >> 7 & 1;                                                                    \
        c = sum_ >> 8 & 1;                                                                                             \
        RESULT(a = (uint8_t)sum_);                                                                                     \
    } while (0)
#define DO_SBC                                                                                                         \
    do {                                                                                                               \
        uint32_t difference_;                                                                                          \
        if (UNLIKELY(d)) {                                                                                             \
            int32_t decimal_ = (int32_t)from_decimal(a) - (int32_t)from_decimal(value) - 1 + c;                        \
            difference_ = to_decimal((uint32_t)(decimal_ < 0 ? decimal_ + 100 : decimal_)) |                           \
                          (decimal_ < 0 ? 0x100u : 0);                                                                 \
        } else                                                                                                         \
            difference_ = (uint32_t)a - value - 1 + c;                                                                 \
        v = ((a ^ value) & (a ^ difference_)) >> 7 & 1;                                                                \
        c = !(difference_ >> 8 & 1);                                                                                   \
        RESULT(a = (uint8_t)difference_);                                                                              \
    } while (0)

#define SHIFTED_(carry, result)                                                                                        \
    do {                                                                                                               \
        const uint8_t old_ = value, in_ = c;                                                                           \
        (void)in_;                                                                                                     \
        c = (carry);                                                                                                   \
        value = (uint8_t)(result);                                                                                     \
    } while (0)
#define SHIFT_ASL SHIFTED_(old_ >> 7, old_ << 1)
#define SHIFT_LSR SHIFTED_(old_ & 1, old_ >> 1)
#define SHIFT_ROL SHIFTED_(old_ >> 7, old_ << 1 | in_)
#define SHIFT_ROR SHIFTED_(old_ & 1, old_ >> 1 | in_ << 7)
#define CHANGE_ASL SHIFT_ASL; RESULT(value)
#define CHANGE_LSR SHIFT_LSR; RESULT(value)
#define CHANGE_ROL SHIFT_ROL; RESULT(value)
#define CHANGE_ROR SHIFT_ROR; RESULT(value)
#define CHANGE_INC value++; RESULT(value)
#define CHANGE_DEC value--; RESULT(value)
/* Undocumented: a change, then an operation with its result. */
#define CHANGE_SLO SHIFT_ASL; DO_ORA
#define CHANGE_RLA SHIFT_ROL; DO_AND
#define CHANGE_SRE SHIFT_LSR; DO_EOR
#define CHANGE_RRA SHIFT_ROR; DO_ADC
#define CHANGE_DCP value--; DO_CMP
#define CHANGE_ISB value++; DO_SBC

#define STORED_STA a
#define STORED_STX x
#define STORED_STY y
#define STORED_SAX (uint8_t)(a & x)

#define SIMPLE_CLC c = 0
#define SIMPLE_SEC c = 1
#define SIMPLE_CLI i = 0
#define SIMPLE_SEI i = 1
#define SIMPLE_CLV v = 0
#define SIMPLE_CLD d = 0
#define SIMPLE_SED d = 1
#define SIMPLE_TAX RESULT(x = a)
#define SIMPLE_TAY RESULT(y = a)
#define SIMPLE_TXA RESULT(a = x)
#define SIMPLE_TYA RESULT(a = y)
#define SIMPLE_TSX RESULT(x = sp)
#define SIMPLE_TXS sp = x
#define SIMPLE_INX x++; RESULT(x)
#define SIMPLE_INY y++; RESULT(y)
#define SIMPLE_DEX x--; RESULT(x)
#define SIMPLE_DEY y--; RESULT(y)
#define SIMPLE_NOP (void)0

#define WHEN_BPL !(n & 0x80)
#define WHEN_BMI (n & 0x80)
#define WHEN_BVC !v
#define WHEN_BVS v
#define WHEN_BCC !c
#define WHEN_BCS c
#define WHEN_BNE z
#define WHEN_BEQ !z

#define FLAGS (uint8_t)((n & 0x80) | v << 6 | 0x30 | d << 3 | i << 2 | (z == 0) << 1 | c)
#define SET_FLAGS(from) n = (from), v = (from) >> 6 & 1, d = (from) >> 3 & 1, i = (from) >> 2 & 1, z = !((from) & 2), \
                        c = (from) & 1

/* ---- kinds of instructions. `next` is the address of the one that follows ------------------------------------------ */

#define READ_immediate(operation, cycles, operand)                                                                     \
    do {                                                                                                               \
        const uint8_t value = (uint8_t)(operand);                                                                      \
        cycle += 2;                                                                                                    \
        DO_##operation;                                                                                                \
    } while (0)
#define READ_FROM_(operation, mode, cycles, operand)                                                                   \
    do {                                                                                                               \
        ADDRESS_##mode(operand);                                                                                       \
        uint8_t value;                                                                                                 \
        cycle += cycles + (int32_t)page_;                                                                              \
        READ_AT_##mode(address, value);                                                                                \
        DO_##operation;                                                                                                \
    } while (0)
#define READ_zero(operation, cycles, operand) READ_FROM_(operation, zero, cycles, operand)
#define READ_zero_x(operation, cycles, operand) READ_FROM_(operation, zero_x, cycles, operand)
#define READ_zero_y(operation, cycles, operand) READ_FROM_(operation, zero_y, cycles, operand)
#define READ_absolute(operation, cycles, operand) READ_FROM_(operation, absolute, cycles, operand)
#define READ_absolute_x(operation, cycles, operand) READ_FROM_(operation, absolute_x, cycles, operand)
#define READ_absolute_y(operation, cycles, operand) READ_FROM_(operation, absolute_y, cycles, operand)
#define READ_indirect_x(operation, cycles, operand) READ_FROM_(operation, indirect_x, cycles, operand)
#define READ_indirect_y(operation, cycles, operand) READ_FROM_(operation, indirect_y, cycles, operand)
#define READ(operation, mode, cycles, operand, next) READ_##mode(operation, cycles, operand)

#define WRITE(operation, mode, cycles, operand, next)                                                                  \
    do {                                                                                                               \
        ADDRESS_##mode(operand);                                                                                       \
        (void)page_;                                                                                                   \
        cycle += cycles;                                                                                               \
        WRITE_AT_##mode(address, STORED_##operation, next, WRITER_##mode);                                             \
    } while (0)

#define MODIFY(operation, mode, cycles, operand, next)                                                                 \
    do {                                                                                                               \
        ADDRESS_##mode(operand);                                                                                       \
        uint8_t value;                                                                                                 \
        (void)page_;                                                                                                   \
        cycle += cycles;                                                                                               \
        READ_AT_##mode(address, value);                                                                                \
        CHANGE_##operation;                                                                                            \
        WRITE_AT_##mode(address, value, next, WRITER_##mode);                                                          \
    } while (0)

#define ACCUMULATOR(operation, mode, cycles, operand, next)                                                            \
    do {                                                                                                               \
        uint8_t value = a;                                                                                             \
        cycle += cycles;                                                                                               \
        SHIFT_##operation;                                                                                             \
        RESULT(a = value);                                                                                             \
    } while (0)

#define IMPLIED(operation, mode, cycles, operand, next)                                                                \
    do {                                                                                                               \
        cycle += cycles;                                                                                               \
        SIMPLE_##operation;                                                                                            \
    } while (0)

#define PUSH_BYTE(byte, next)                                                                                          \
    do {                                                                                                               \
        const uint8_t pushed_ = (byte), where_ = sp--;                                                                 \
        WRITE_ZERO(where_, pushed_, next, tia_write_any);                                                              \
    } while (0)
#define PULL_BYTE(into)                                                                                                \
    do {                                                                                                               \
        sp++;                                                                                                          \
        READ_ZERO(sp, into);                                                                                           \
    } while (0)

#define PUSHED_PHA a
#define PUSHED_PHP FLAGS
#define PUSH(operation, mode, cycles, operand, next)                                                                   \
    do {                                                                                                               \
        cycle += cycles;                                                                                               \
        PUSH_BYTE(PUSHED_##operation, next);                                                                           \
    } while (0)

#define PULLED_PLA RESULT(a = value)
#define PULLED_PLP SET_FLAGS(value)
#define PULL(operation, mode, cycles, operand, next)                                                                   \
    do {                                                                                                               \
        uint8_t value;                                                                                                 \
        cycle += cycles;                                                                                               \
        PULL_BYTE(value);                                                                                              \
        PULLED_##operation;                                                                                            \
    } while (0)

/* A branch costs one cycle more where it is taken, and another one where that leads to another page. */
#define BRANCH_TARGET(operand, next) (((next) + (uint32_t)(int8_t)(operand)) & 0xffff)
#define BRANCH_CYCLES(operand, next) (1 + (int32_t)((((next) ^ BRANCH_TARGET(operand, next)) >> 8) != 0))

#define CALL_CYCLES_AND_STACK(cycles, next)                                                                            \
    do {                                                                                                               \
        const uint32_t last_ = ((next)-1) & 0xffff;                                                                    \
        cycle += cycles;                                                                                               \
        PUSH_BYTE((uint8_t)(last_ >> 8), next);                                                                        \
        PUSH_BYTE((uint8_t)last_, next);                                                                               \
    } while (0)

#define PULL_PC(plus)                                                                                                  \
    do {                                                                                                               \
        uint8_t low_, high_;                                                                                           \
        PULL_BYTE(low_);                                                                                               \
        PULL_BYTE(high_);                                                                                              \
        pc = ((low_ | (uint32_t)high_ << 8) + (plus)) & 0xffff;                                                        \
    } while (0)

/* A jump through a pointer, whose second byte comes from the same page. */
#define PC_FROM(cycles, operand)                                                                                       \
    do {                                                                                                               \
        const uint32_t second_ = ((operand) & 0xff00) | (((operand) + 1) & 0xff);                                      \
        uint8_t low_, high_;                                                                                           \
        cycle += cycles;                                                                                               \
        READ_BUS(operand, low_);                                                                                       \
        READ_BUS(second_, high_);                                                                                      \
        pc = low_ | (uint32_t)high_ << 8;                                                                              \
    } while (0)

/* Waiting for the timer, `LDA INTIM` and a branch back to it while the timer is not 0, takes a third of a frame in many
 * games. Whole rounds of that loop can be skipped: none of them reads the last value before 0. */
#define INTIM 0x284
#define SKIP_WAITING(round)                                                                                            \
    do {                                                                                                               \
        const int32_t zero_ = state->timer_set + 1 + (state->timer_value - 1) * (1 << state->timer_shift);              \
        const int32_t read_ = cycle + 4;                                                                               \
        if (state->timer_value && read_ < zero_)                                                                       \
            cycle += (zero_ - read_ + (round)-1) / (round) * (round);                                                  \
    } while (0)

#endif
