"""Translates a ROM's code to C.

It knows little of the processor: each instruction becomes one line with the macro of its kind
(atari/m6507.h), its operands as constants, and `goto` where the next one is known. Where it is not, or code
was not translated, the interpreter takes over for an instruction, so a translation need not be complete to be
exact.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import zip_longest
from pathlib import Path

SOURCES = Path(__file__).parent / "atari"
_VIEW, _SLICE = 4096, 1024
_LANDED = 2
_LENGTHS = {"implied": 1, "absolute": 3, "absolute_x": 3, "absolute_y": 3}
_INTIM_WAIT = b"\xad\x84\x02\xd0\xfb"


@dataclass(frozen=True)
class Instruction:
    """One opcode."""

    kind: str
    operation: str
    mode: str
    cycles: int

    @property
    def length(self) -> int:
        """Bytes."""
        return _LENGTHS.get(self.mode, 2)


@cache
def instruction_set() -> dict[int, Instruction]:
    """Return all opcodes, as the core's own table has them."""
    table = (SOURCES / "instructions.h").read_text()
    rows = re.findall(r"I\((0x\w\w), (\w+), (\w+), (\w+), (\d)\)", table)
    return {
        int(code, 16): Instruction(kind, name, mode, int(cycles)) for code, kind, name, mode, cycles in rows
    }


class Code:
    """A ROM's code in blocks of one bank at one place: within one, an address alone tells what is there."""

    def __init__(self, rom: bytes, *, sliced: bool) -> None:
        self.sliced = sliced
        self.size = _SLICE if sliced else _VIEW
        if len(rom) < _VIEW:
            rom = rom * (_VIEW // len(rom))
        self.blocks: list[tuple[int, bytes]] = []
        """Address within 4 kB, and bytes: block b begins at index b * size of all code."""
        if sliced:
            banks = [rom[at : at + _SLICE] for at in range(0, len(rom), _SLICE)]
            self.blocks = [(place * _SLICE, bank) for place in range(4) for bank in banks]
        else:
            self.blocks = [(0, rom[at : at + _VIEW]) for at in range(0, len(rom), _VIEW)]

    def at(self, index: int) -> tuple[int, bytes]:
        """Return the address within 4 kB of a piece of code, and its bytes."""
        place, block = self.blocks[index // self.size]
        offset = index % self.size
        return place + offset, block[offset : offset + 5]

    def find(self, near: int, address: int) -> int | None:
        """Return where an address is, seen from other code; None where that depends on the banks."""
        address &= _VIEW - 1
        if not self.sliced:
            return near // _VIEW * _VIEW + address
        place = address // _SLICE
        if place == 3:
            return (3 * 8 + 7) * _SLICE + address % _SLICE
        if place == near // _SLICE // 8:
            return near // _SLICE * _SLICE + address % _SLICE
        return None


def _successors(code: Code, index: int) -> tuple[Instruction, int, list[int], list[int]]:
    """Return an instruction, its operand, and the code that it falls through to and jumps to."""
    address, data = code.at(index)
    instruction = instruction_set()[data[0]]
    if len(data) < instruction.length:
        return Instruction("STOP", "JAM", "implied", 2), 0, [], []  # it runs into another block
    operand = int.from_bytes(data[1 : instruction.length], "little")
    after = code.find(index, address + instruction.length)
    falls = [after] if after is not None else []
    if instruction.kind in ("STOP", "BREAK", "RETURN", "RETURN_INTERRUPT", "JUMP_INDIRECT"):
        return instruction, operand, [], []
    if instruction.kind == "JUMP":
        target = code.find(index, operand)
        return instruction, operand, [], [target] if target is not None else []
    if instruction.kind == "CALL":
        target = code.find(index, operand)
        return instruction, operand, [], [*falls, *([target] if target is not None else [])]
    if instruction.kind == "BRANCH":
        target = code.find(index, address + 2 + (operand ^ 0x80) - 0x80)
        return instruction, operand, falls, [target] if target is not None else []
    return instruction, operand, falls, []


def _reachable(code: Code, visited: bytes) -> tuple[list[int], set[int]]:
    """Return all code that ran or may follow on what ran, and those pieces of it that are jumped to."""
    size = len(code.blocks) * code.size
    found = {index for index, flags in enumerate(visited[:size]) if flags}
    # Code at the beginning of a block may be reached from the end of another one.
    landings = {index for index in found if visited[index] & _LANDED or index % code.size < 3}
    waiting = list(found)
    while waiting:
        _, _, falls, jumps = _successors(code, waiting.pop())
        landings.update(jumps)
        fresh = {*falls, *jumps} - found
        found |= fresh
        waiting += fresh
    return sorted(found), landings


def _switching(size: int, *, sliced: bool) -> tuple[str, range]:
    """Return the cartridge's kind and the addresses that switch its banks (atari/cartridge.h)."""
    if sliced:
        return "CARTRIDGE_SLICES", range(0xFE0, 0xFF8)
    if size <= _VIEW:
        return "CARTRIDGE_PLAIN", range(0x1000, 0x1000)
    return "CARTRIDGE_BANKS", range(0xFF8, 0xFFA) if size == 8192 else range(0xFF6, 0xFFA)


def translate(rom: bytes, visited: bytes, *, sliced: bool) -> str:
    """Return the C source of a ROM's code."""
    code = Code(rom, sliced=sliced)
    indices, landings = _reachable(code, visited)
    known = set(indices)
    kind, hot = _switching(len(rom), sliced=sliced)
    lines: list[str] = []
    for index, following in zip_longest(indices, indices[1:], fillvalue=-1):
        lines.append(f"L{index}:")
        lines += _lines(code, index, known, hot, following)
    table = ",".join(f"[{index}]=&&L{index}-&&interpret" for index in sorted(landings & known))
    return _FRAME.format(
        kind=kind, hot_first=hot.start, hot_count=len(hot), table=table, body="\n".join(lines)
    )


def _lines(code: Code, index: int, known: set[int], hot: range, following: int) -> Iterator[str]:
    address, data = code.at(index)
    instruction, operand, falls, jumps = _successors(code, index)
    here = f"(bank | {address:#x})"
    after = f"(bank + {address + instruction.length:#x} & 0xffff)"

    def go(target: int | None, where: str) -> str:
        return f"goto L{target};" if target in known else f"GO({where})"

    if instruction.kind == "JUMP_INDIRECT":
        yield f"PC_FROM({instruction.cycles}, {operand:#x}u); goto dispatch;"
        return
    if instruction.kind in ("STOP", "BREAK", "RETURN_INTERRUPT"):
        yield f"pc = {here}; goto interpret;"
        return
    if instruction.kind == "RETURN":
        yield f"cycle += {instruction.cycles}; PULL_PC(1); goto dispatch;"
        return
    if instruction.kind in ("JUMP", "CALL"):
        if instruction.kind == "CALL":
            yield f"CALL_CYCLES_AND_STACK({instruction.cycles}, {after});"
        else:
            yield f"cycle += {instruction.cycles};"
        target = code.find(index, operand)
        if not operand & 0x1000 or target not in known:
            yield f"GO({operand:#x})"
        else:
            yield f"bank = {operand & 0xF000:#x}; NOT_FOR_EVER(bank | {operand & 0xFFF:#x}) goto L{target};"
        return
    if instruction.kind == "BRANCH":
        destination = address + 2 + (operand ^ 0x80) - 0x80
        extra = 1 + ((address + 2) >> 8 != destination >> 8)
        where = f"(bank + {destination & 0xFFFF:#x} & 0xffff)"
        check = f"NOT_FOR_EVER({where}) " if destination <= address else ""
        target = jumps[0] if jumps else None
        if not 0 <= destination < _VIEW:
            target = None  # around the end of the address space: nobody does that
        taken = f"cycle += {extra}; {check}{go(target, where)}"
        yield f"cycle += {instruction.cycles}; if (m6507_{instruction.operation}(&cpu)) {{ {taken} }}"
    else:
        if data == _INTIM_WAIT:
            yield f"SKIP_WAITING({6 + 1 + ((address + 5) >> 8 != address >> 8)});"
        operation, mode, cycles = instruction.operation, instruction.mode, instruction.cycles
        yield f"{instruction.kind}({operation}, {mode}, {cycles}, {operand:#x}u, {after});"
        if hot and _may_be_hot(mode, operand, hot):
            yield f"IF_SWITCHED({after})"
    if not falls or falls[0] not in known or address + instruction.length >= _VIEW:
        yield f"GO({after})"
    elif falls[0] != following:
        yield f"goto L{falls[0]};"


def _may_be_hot(mode: str, operand: int, hot: range) -> bool:
    """Return whether an access may switch banks."""
    if mode == "absolute":
        return bool(operand & 0x1000) and operand & 0xFFF in hot
    return mode in ("absolute_x", "absolute_y", "indirect_x", "indirect_y")


_FRAME = """\
#define CARTRIDGE_KIND {kind}
#define HOT_FIRST {hot_first}u
#define HOT_COUNT {hot_count}u
#include "interpreter.h"
#define TIA_WRITE_KNOWN tia_write
#define GO(where) {{ pc = where; goto dispatch; }}
#define NOT_FOR_EVER(where) if (UNLIKELY(cycle >= MAX_FRAME_CYCLES)) GO(where)
#define IF_SWITCHED(where) if (UNLIKELY(switched)) {{ switched = false; GO(where) }}

uint8_t gaps[CODE_SIZE]; /* code that the interpreter had to run */

void prepare(void) {{ make_tia_tables(); }}

void run_frame(Machine *machine)
{{
    static const int32_t landing[CODE_SIZE] = {{ {table} }};
    uint32_t bank = 0;
    LOAD_REGISTERS;
dispatch:
    if (UNLIKELY(!(pc & 0x1000) || cycle >= MAX_FRAME_CYCLES)) {{
        machine->fault |= pc & 0x1000 ? FAULT_HANG : FAULT_ADDRESS;
        goto end_of_frame;
    }}
    bank = pc & 0xf000;
    goto *(&&interpret + landing[code_index(machine, pc)]);
interpret:
    gaps[code_index(machine, pc)] = CODE_RAN | CODE_LANDED;
    STORE_REGISTERS;
    {{
        const bool ended = interpret_one(machine);
        cpu = m6507_load(state);
        pc = state->pc, cycle = state->cycle, rom = machine->rom;
        if (ended)
            goto end_of_frame;
    }}
    goto dispatch;
{body}
end_of_frame:
    STORE_REGISTERS;
}}
"""
