/* 6507: what each instruction does.
 *
 * Operations are functions of the registers. Access to the bus may end a frame or switch banks, so what has it is a
 * macro over local variables: `machine`, `state`, `cpu`, `pc`, `cycle`, `rom` and `switched`. Two programs are made of
 * them: the interpreter (interpreter.h), which takes operands from the cartridge, and ROMs translated to C, which have
 * them as constants, so that the compiler can see through the addressing. Either provides a label `end_of_frame`;
 * translated code also `dispatch`, which goes on at `pc`.
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

/* ---- registers ----------------------------------------------------------------------------------------------------- */

/* The registers while code runs: a local variable of whoever runs it, so that the compiler keeps it in registers of its
 * own. Flags as in State. */
typedef struct {
    uint8_t a, x, y, sp, n, z, c, v, d, i;
} M6507;

static ALWAYS_INLINE M6507 m6507_load(const State *state)
{
    return (M6507){state->a, state->x, state->y, state->sp, state->n, state->z, state->c, state->v, state->d, state->i};
}

static ALWAYS_INLINE void m6507_store(const M6507 *cpu, State *state)
{
    state->a = cpu->a, state->x = cpu->x, state->y = cpu->y, state->sp = cpu->sp, state->n = cpu->n;
    state->z = cpu->z, state->c = cpu->c, state->v = cpu->v, state->d = cpu->d, state->i = cpu->i;
}

#define LOAD_REGISTERS                                                                                                 \
    State *const state = &machine->state;                                                                              \
    M6507 cpu = m6507_load(state);                                                                                     \
    uint32_t pc = state->pc;                                                                                           \
    int32_t cycle = state->cycle;                                                                                      \
    const uint8_t *rom = machine->rom;                                                                                 \
    bool switched = false; /* whether the last instruction switched banks */                                           \
    (void)switched

#define STORE_REGISTERS                                                                                                \
    m6507_store(&cpu, state);                                                                                          \
    state->pc = (uint16_t)pc;                                                                                          \
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
#define WRITE_TIA(address, value, next, write)                                                                         \
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
#define ADDRESS_zero_x(operand) const uint32_t address = (uint8_t)((operand) + cpu.x), page_ = 0
#define ADDRESS_zero_y(operand) const uint32_t address = (uint8_t)((operand) + cpu.y), page_ = 0
#define ADDRESS_absolute(operand) const uint32_t address = (operand), page_ = 0
#define ADDRESS_absolute_x(operand)                                                                                    \
    const uint32_t address = ((operand) + cpu.x) & 0xffff, page_ = (((operand) & 0xff) + cpu.x) >> 8
#define ADDRESS_absolute_y(operand)                                                                                    \
    const uint32_t address = ((operand) + cpu.y) & 0xffff, page_ = (((operand) & 0xff) + cpu.y) >> 8
#define POINTER_(where)                                                                                                \
    uint8_t low_, high_;                                                                                               \
    READ_ZERO((uint8_t)(where), low_);                                                                                 \
    READ_ZERO((uint8_t)((where) + 1), high_)
#define ADDRESS_indirect_x(operand)                                                                                    \
    POINTER_((operand) + cpu.x);                                                                                       \
    const uint32_t address = low_ | (uint32_t)high_ << 8, page_ = 0
#define ADDRESS_indirect_y(operand)                                                                                    \
    POINTER_(operand);                                                                                                 \
    const uint32_t address = ((low_ | (uint32_t)high_ << 8) + cpu.y) & 0xffff, page_ = (uint32_t)(low_ + cpu.y) >> 8

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

/* ---- operations, each named as in instructions.h ------------------------------------------------------------------- */

static ALWAYS_INLINE uint8_t m6507_result(M6507 *cpu, uint8_t of)
{
    return cpu->n = cpu->z = of;
}

static ALWAYS_INLINE void m6507_compare(M6507 *cpu, uint8_t with, uint8_t value)
{
    cpu->c = with >= value;
    m6507_result(cpu, (uint8_t)(with - value));
}

static inline uint32_t from_decimal(uint32_t value)
{
    return (value >> 4) * 10 + (value & 15);
}

static inline uint32_t to_decimal(uint32_t value)
{
    return value / 10 % 10 << 4 | value % 10;
}

/* With a value that was read. */
static ALWAYS_INLINE void m6507_ORA(M6507 *cpu, uint8_t value)
{
    cpu->a = m6507_result(cpu, cpu->a | value);
}
static ALWAYS_INLINE void m6507_AND(M6507 *cpu, uint8_t value)
{
    cpu->a = m6507_result(cpu, cpu->a & value);
}
static ALWAYS_INLINE void m6507_EOR(M6507 *cpu, uint8_t value)
{
    cpu->a = m6507_result(cpu, cpu->a ^ value);
}
static ALWAYS_INLINE void m6507_LDA(M6507 *cpu, uint8_t value)
{
    cpu->a = m6507_result(cpu, value);
}
static ALWAYS_INLINE void m6507_LDX(M6507 *cpu, uint8_t value)
{
    cpu->x = m6507_result(cpu, value);
}
static ALWAYS_INLINE void m6507_LDY(M6507 *cpu, uint8_t value)
{
    cpu->y = m6507_result(cpu, value);
}
static ALWAYS_INLINE void m6507_LAX(M6507 *cpu, uint8_t value)
{
    cpu->a = cpu->x = m6507_result(cpu, value);
}
static ALWAYS_INLINE void m6507_CMP(M6507 *cpu, uint8_t value)
{
    m6507_compare(cpu, cpu->a, value);
}
static ALWAYS_INLINE void m6507_CPX(M6507 *cpu, uint8_t value)
{
    m6507_compare(cpu, cpu->x, value);
}
static ALWAYS_INLINE void m6507_CPY(M6507 *cpu, uint8_t value)
{
    m6507_compare(cpu, cpu->y, value);
}
static ALWAYS_INLINE void m6507_BIT(M6507 *cpu, uint8_t value)
{
    cpu->n = value;
    cpu->v = value >> 6 & 1;
    cpu->z = cpu->a & value;
}
static ALWAYS_INLINE void m6507_NOP(M6507 *cpu, uint8_t value)
{
    (void)cpu, (void)value;
}
static ALWAYS_INLINE void m6507_ADC(M6507 *cpu, uint8_t value)
{
    uint32_t sum;
    if (UNLIKELY(cpu->d)) {
        const uint32_t decimal = from_decimal(cpu->a) + from_decimal(value) + cpu->c;
        sum = to_decimal(decimal) | (decimal > 99 ? 0x100 : 0);
    } else
        sum = (uint32_t)cpu->a + value + cpu->c;
    cpu->v = ((cpu->a ^ sum) & (value ^ sum)) >> 7 & 1;
    cpu->c = sum >> 8 & 1;
    cpu->a = m6507_result(cpu, (uint8_t)sum);
}
static ALWAYS_INLINE void m6507_SBC(M6507 *cpu, uint8_t value)
{
    uint32_t difference;
    if (UNLIKELY(cpu->d)) {
        const int32_t decimal = (int32_t)from_decimal(cpu->a) - (int32_t)from_decimal(value) - 1 + cpu->c;
        difference = to_decimal((uint32_t)(decimal < 0 ? decimal + 100 : decimal)) | (decimal < 0 ? 0x100u : 0);
    } else
        difference = (uint32_t)cpu->a - value - 1 + cpu->c;
    cpu->v = ((cpu->a ^ value) & (cpu->a ^ difference)) >> 7 & 1;
    cpu->c = !(difference >> 8 & 1);
    cpu->a = m6507_result(cpu, (uint8_t)difference);
}

/* With a value that is written back. */
static ALWAYS_INLINE uint8_t m6507_shift_left(M6507 *cpu, uint8_t value, uint8_t into)
{
    cpu->c = value >> 7;
    return (uint8_t)(value << 1 | into);
}
static ALWAYS_INLINE uint8_t m6507_shift_right(M6507 *cpu, uint8_t value, uint8_t into)
{
    cpu->c = value & 1;
    return (uint8_t)(value >> 1 | into << 7);
}
static ALWAYS_INLINE uint8_t m6507_ASL(M6507 *cpu, uint8_t value)
{
    return m6507_result(cpu, m6507_shift_left(cpu, value, 0));
}
static ALWAYS_INLINE uint8_t m6507_LSR(M6507 *cpu, uint8_t value)
{
    return m6507_result(cpu, m6507_shift_right(cpu, value, 0));
}
static ALWAYS_INLINE uint8_t m6507_ROL(M6507 *cpu, uint8_t value)
{
    return m6507_result(cpu, m6507_shift_left(cpu, value, cpu->c));
}
static ALWAYS_INLINE uint8_t m6507_ROR(M6507 *cpu, uint8_t value)
{
    return m6507_result(cpu, m6507_shift_right(cpu, value, cpu->c));
}
static ALWAYS_INLINE uint8_t m6507_INC(M6507 *cpu, uint8_t value)
{
    return m6507_result(cpu, (uint8_t)(value + 1));
}
static ALWAYS_INLINE uint8_t m6507_DEC(M6507 *cpu, uint8_t value)
{
    return m6507_result(cpu, (uint8_t)(value - 1));
}
/* Undocumented: a change, then an operation with its result. */
static ALWAYS_INLINE uint8_t m6507_SLO(M6507 *cpu, uint8_t value)
{
    value = m6507_shift_left(cpu, value, 0);
    m6507_ORA(cpu, value);
    return value;
}
static ALWAYS_INLINE uint8_t m6507_RLA(M6507 *cpu, uint8_t value)
{
    value = m6507_shift_left(cpu, value, cpu->c);
    m6507_AND(cpu, value);
    return value;
}
static ALWAYS_INLINE uint8_t m6507_SRE(M6507 *cpu, uint8_t value)
{
    value = m6507_shift_right(cpu, value, 0);
    m6507_EOR(cpu, value);
    return value;
}
static ALWAYS_INLINE uint8_t m6507_RRA(M6507 *cpu, uint8_t value)
{
    value = m6507_shift_right(cpu, value, cpu->c);
    m6507_ADC(cpu, value);
    return value;
}
static ALWAYS_INLINE uint8_t m6507_DCP(M6507 *cpu, uint8_t value)
{
    m6507_CMP(cpu, --value);
    return value;
}
static ALWAYS_INLINE uint8_t m6507_ISB(M6507 *cpu, uint8_t value)
{
    m6507_SBC(cpu, ++value);
    return value;
}

/* What is written. */
static ALWAYS_INLINE uint8_t m6507_STA(const M6507 *cpu)
{
    return cpu->a;
}
static ALWAYS_INLINE uint8_t m6507_STX(const M6507 *cpu)
{
    return cpu->x;
}
static ALWAYS_INLINE uint8_t m6507_STY(const M6507 *cpu)
{
    return cpu->y;
}
static ALWAYS_INLINE uint8_t m6507_SAX(const M6507 *cpu)
{
    return cpu->a & cpu->x;
}
static ALWAYS_INLINE uint8_t m6507_PHA(const M6507 *cpu)
{
    return cpu->a;
}
static ALWAYS_INLINE uint8_t m6507_PHP(const M6507 *cpu)
{
    return (uint8_t)((cpu->n & 0x80) | cpu->v << 6 | 0x30 | cpu->d << 3 | cpu->i << 2 | (cpu->z == 0) << 1 | cpu->c);
}

/* With a byte from the stack. */
static ALWAYS_INLINE void m6507_PLA(M6507 *cpu, uint8_t value)
{
    cpu->a = m6507_result(cpu, value);
}
static ALWAYS_INLINE void m6507_PLP(M6507 *cpu, uint8_t value)
{
    cpu->n = value, cpu->v = value >> 6 & 1, cpu->d = value >> 3 & 1, cpu->i = value >> 2 & 1;
    cpu->z = !(value & 2), cpu->c = value & 1;
}

/* With nothing but registers. */
#define M6507_SIMPLE(operation, statement)                                                                             \
    static ALWAYS_INLINE void m6507_##operation(M6507 *cpu)                                                            \
    {                                                                                                                  \
        statement;                                                                                                     \
    }
M6507_SIMPLE(CLC, cpu->c = 0)
M6507_SIMPLE(SEC, cpu->c = 1)
M6507_SIMPLE(CLI, cpu->i = 0)
M6507_SIMPLE(SEI, cpu->i = 1)
M6507_SIMPLE(CLV, cpu->v = 0)
M6507_SIMPLE(CLD, cpu->d = 0)
M6507_SIMPLE(SED, cpu->d = 1)
M6507_SIMPLE(TAX, cpu->x = m6507_result(cpu, cpu->a))
M6507_SIMPLE(TAY, cpu->y = m6507_result(cpu, cpu->a))
M6507_SIMPLE(TXA, cpu->a = m6507_result(cpu, cpu->x))
M6507_SIMPLE(TYA, cpu->a = m6507_result(cpu, cpu->y))
M6507_SIMPLE(TSX, cpu->x = m6507_result(cpu, cpu->sp))
M6507_SIMPLE(TXS, cpu->sp = cpu->x)
M6507_SIMPLE(INX, cpu->x = m6507_result(cpu, (uint8_t)(cpu->x + 1)))
M6507_SIMPLE(INY, cpu->y = m6507_result(cpu, (uint8_t)(cpu->y + 1)))
M6507_SIMPLE(DEX, cpu->x = m6507_result(cpu, (uint8_t)(cpu->x - 1)))
M6507_SIMPLE(DEY, cpu->y = m6507_result(cpu, (uint8_t)(cpu->y - 1)))
M6507_SIMPLE(WAIT, (void)cpu) /* NOP without an operand */

/* Whether a branch is taken. */
#define M6507_CONDITION(operation, condition)                                                                          \
    static ALWAYS_INLINE bool m6507_##operation(const M6507 *cpu)                                                      \
    {                                                                                                                  \
        return (condition) != 0;                                                                                       \
    }
M6507_CONDITION(BPL, !(cpu->n & 0x80))
M6507_CONDITION(BMI, cpu->n & 0x80)
M6507_CONDITION(BVC, !cpu->v)
M6507_CONDITION(BVS, cpu->v)
M6507_CONDITION(BCC, !cpu->c)
M6507_CONDITION(BCS, cpu->c)
M6507_CONDITION(BNE, cpu->z)
M6507_CONDITION(BEQ, !cpu->z)

/* ---- kinds of instructions. `next` is the address of the one that follows ------------------------------------------ */

#define READ_immediate(operation, cycles, operand)                                                                     \
    do {                                                                                                               \
        const uint8_t value = (uint8_t)(operand);                                                                      \
        cycle += 2;                                                                                                    \
        m6507_##operation(&cpu, value);                                                                                \
    } while (0)
#define READ_FROM_(operation, mode, cycles, operand)                                                                   \
    do {                                                                                                               \
        ADDRESS_##mode(operand);                                                                                       \
        uint8_t value;                                                                                                 \
        cycle += cycles + (int32_t)page_;                                                                              \
        READ_AT_##mode(address, value);                                                                                \
        m6507_##operation(&cpu, value);                                                                                \
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
        WRITE_AT_##mode(address, m6507_##operation(&cpu), next, WRITER_##mode);                                        \
    } while (0)

#define MODIFY(operation, mode, cycles, operand, next)                                                                 \
    do {                                                                                                               \
        ADDRESS_##mode(operand);                                                                                       \
        uint8_t value;                                                                                                 \
        (void)page_;                                                                                                   \
        cycle += cycles;                                                                                               \
        READ_AT_##mode(address, value);                                                                                \
        value = m6507_##operation(&cpu, value);                                                                        \
        WRITE_AT_##mode(address, value, next, WRITER_##mode);                                                          \
    } while (0)

#define ACCUMULATOR(operation, mode, cycles, operand, next)                                                            \
    do {                                                                                                               \
        cycle += cycles;                                                                                               \
        cpu.a = m6507_##operation(&cpu, cpu.a);                                                                        \
    } while (0)

#define IMPLIED(operation, mode, cycles, operand, next)                                                                \
    do {                                                                                                               \
        cycle += cycles;                                                                                               \
        m6507_##operation(&cpu);                                                                                       \
    } while (0)

#define PUSH_BYTE(byte, next)                                                                                          \
    do {                                                                                                               \
        const uint8_t pushed_ = (byte), where_ = cpu.sp--;                                                             \
        WRITE_ZERO(where_, pushed_, next, tia_write_any);                                                              \
    } while (0)
#define PULL_BYTE(into)                                                                                                \
    do {                                                                                                               \
        cpu.sp++;                                                                                                      \
        READ_ZERO(cpu.sp, into);                                                                                       \
    } while (0)

#define PUSH(operation, mode, cycles, operand, next)                                                                   \
    do {                                                                                                               \
        cycle += cycles;                                                                                               \
        PUSH_BYTE(m6507_##operation(&cpu), next);                                                                      \
    } while (0)

#define PULL(operation, mode, cycles, operand, next)                                                                   \
    do {                                                                                                               \
        uint8_t value;                                                                                                 \
        cycle += cycles;                                                                                               \
        PULL_BYTE(value);                                                                                              \
        m6507_##operation(&cpu, value);                                                                                \
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
