"""The native engine. The judge is ale-py."""

import itertools
import os
import shutil
import sys
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import sleep

import numpy as np
import pytest

from goexplore import _native as native
from goexplore._native import translation
from goexplore._native.translation import TranslationError, use_translation
from goexplore._native.translator import translate
from goexplore.engines import LockStep, Play, every_room_first, plays
from goexplore.envs import NOWHERE, AtariEnv, Location, NativeAtariEnv, Step, action_numbers, read_rom
from goexplore.envs._palette import NTSC_GREY
from goexplore.errors import ConfigError, EngineError, SnapshotError
from goexplore.games import facts
from goexplore.random import SplitMix64
from tests.fields import candidate, result, rooted

pytestmark = pytest.mark.skipif(native.atari is None, reason="the native engine was not compiled")

GAMES = ("montezuma_revenge", "pitfall")
ALL_GAMES = (
    "berzerk",
    "bowling",
    "centipede",
    "freeway",
    "gravitar",
    "montezuma_revenge",
    "pitfall",
    "private_eye",
    "skiing",
    "solaris",
    "venture",
)
SLOW_TO_COMPILE = ("bowling", "centipede", "gravitar", "private_eye", "venture")
EACH_GAME = [
    pytest.param(game, marks=pytest.mark.slow if game in SLOW_TO_COMPILE else ()) for game in ALL_GAMES
]
VIEWS = {"montezuma_revenge": 512, "pitfall": 1}
FIELDS = {
    "cycle": 140,
    "view": 144,
    "timer shift": 147,
    "collisions": 160,
    "pending": 212,
    "over": 214,
    "layout": 215,
}
"""Where some of a state's fields are."""
FLAGS, POSITIONS = range(136, 140), range(207, 212)


def some_actions(limit, count, seed=0):
    return np.repeat(SplitMix64(seed).below(limit, count // 10), 10).tolist()


def play(env, actions):
    return [(env.step(action), env.snapshot(), env.observation().tobytes()) for action in actions]


def play_machine(machine, actions, frame_skip=4):
    return [
        (machine.play(bytes([action]), frame_skip), machine.snapshot(), bytes(machine)) for action in actions
    ]


def changed(state, at, value):
    return state[:at] + bytes((value,)) + state[at + 1 :]


# ---- as ale-py --------------------------------------------------------------------------------------------


def test_these_are_all_games_that_the_engine_knows():
    assert native.atari.GAMES == ALL_GAMES


@pytest.mark.parametrize("game", EACH_GAME)
def test_a_game_begins_as_on_ale_py(game):
    env, reference = NativeAtariEnv(game=game), AtariEnv(game=game)
    play(env, some_actions(env.action_count, 30))
    env.reset()
    assert env.memory() == env.native_memory(env.snapshot()) == reference.memory()
    assert (env.observation() == reference.observation()).all()
    assert env._machine.lives == reference._ale.lives()


@pytest.mark.parametrize("game", EACH_GAME)
def test_random_play_is_the_same_frame_by_frame(game):
    both, game_frames = LockStep(game, facts(game)), 0
    for play in plays([], b"", seed=1):
        compared = both.compare(play)
        assert compared.difference is None
        game_frames += compared.game_frames
        if game_frames >= 5000:
            break


@pytest.mark.parametrize(
    ("game", "training_frames"),
    [("freeway", 2048), pytest.param("private_eye", 2698, marks=pytest.mark.slow)],
)
def test_a_game_that_takes_a_certain_time_ends_as_on_ale_py(game, training_frames):
    compared = LockStep(game, facts(game)).compare(Play(actions=b"", tail=3000, seed=1))
    assert compared.difference is None
    assert compared.game_frames == 4 * training_frames


def test_game_frames_played_in_one_go_lead_where_ale_py_gets_one_by_one():
    """Until the game ends, which it does between two that are drawn."""
    settings = {"game": "montezuma_revenge", "frame_skip": 1, "episode_end": "game-over"}
    env, reference = NativeAtariEnv(**settings), AtariEnv(**settings)
    random, ended_within = SplitMix64(2), False
    for _ in range(4):
        env.reset()
        reference.reset()
        step = Step(0.0)
        while not step.ended:
            burst = bytes(np.repeat(random.below(env.action_count, 3), 5).astype(np.uint8))
            before = env.snapshot()
            step, expected = env.play(burst), reference.play(burst)
            assert step == expected
            assert env.memory() == env.native_memory(env.snapshot()) == reference.memory()
            assert (env.observation() == reference.observation()).all()
        env.restore(before)
        ended_within = ended_within or env.play(burst[:-1]).ended
    assert ended_within


def test_what_is_played_in_one_go_ends_where_a_life_does():
    env, reference = (
        kind(game="montezuma_revenge", episode_end="life-loss") for kind in (NativeAtariEnv, AtariEnv)
    )
    off_the_ledge = bytes([3] * 15) + bytes(100)
    assert env.play(off_the_ledge) == reference.play(off_the_ledge) == Step(0.0, terminated=True)
    assert env.lives() == reference.lives() == 5
    assert (env.observation() == reference.observation()).all()


def test_machines_that_play_together_play_as_alone():
    alone, *together = (NativeAtariEnv(game="pitfall", frame_skip=1) for _ in range(4))
    bursts = [bytes(4), bytes([3] * 4), b"", bytes([1, 3, 3])]
    for _ in range(20):
        steps = NativeAtariEnv.play_each(together, bursts[1:])
        assert steps[1] == Step(0.0)
    for env, burst in zip(together, bursts[1:], strict=True):
        alone.reset()
        for _ in range(20):
            alone.play(burst)
        assert alone.snapshot() == env.snapshot()
        assert (alone.observation() == env.observation()).all()


def test_a_machine_that_cannot_go_on_does_not_stop_the_others():
    bad = native.atari.Machine(native.atari.Cartridge(bytes(4096), "pitfall"))
    good = native.atari.Machine(native.atari.Cartridge(read_rom("pitfall"), "pitfall"))
    before = good.snapshot()
    assert native.atari.play_each((bad, good), (bytes(1), bytes(1)), 4) == [None, 0]
    assert good.snapshot() != before


@pytest.mark.parametrize(
    ("machines", "actions", "frame_skip", "error"),
    [
        (1, (bytes(1), bytes(1)), 4, "for every machine"),
        (1, (bytes(1),), 0, "frame skip"),
        (1, (bytes([18]),), 4, "below 18"),
        (1, (bytearray(1),), 4, "as bytes"),
        (0, (), -1, "frame skip"),
    ],
)
def test_machines_are_not_let_play_what_does_not_exist(machines, actions, frame_skip, error):
    machine = native.atari.Machine(native.atari.Cartridge(read_rom("pitfall"), "pitfall"))
    before = machine.snapshot()
    with pytest.raises(ValueError, match=error):
        native.atari.play_each((machine,) * machines, actions, frame_skip)
    with pytest.raises(ValueError, match="expected machines"):
        native.atari.play_each((bytes(1),), (bytes(1),), 4)
    assert machine.snapshot() == before


def test_every_room_is_played_to_before_any_room_is_played_to_twice():
    archive = rooted()
    candidates = [
        candidate(b"near", offset=2, location=Location(0, 1)),
        candidate(b"far", offset=9, location=Location(0, 1)),
        candidate(b"deep", offset=3, location=Location(1, 1)),
    ]
    for number, each in enumerate(candidates):
        found = result(each, actions=bytes([number]) * each.offset)
        archive.update([archive[0]], [found], game_frame=number)
    assert every_room_first([archive]) == [bytes([1]) * 9, bytes([2]) * 3, bytes([0]) * 2]


def test_one_play_in_a_hundred_is_random_and_the_others_take_the_trajectories_in_turn():
    archive = rooted()
    for number in range(3):
        found = result(
            candidate(b"%d" % number, offset=3 - number, location=Location(0, number)), actions=b"\2" * 3
        )
        archive.update([archive[0]], [found], game_frame=number)
    lengths = [len(play.actions) for play in itertools.islice(plays([archive], bytes(18), seed=0), 202)]
    assert lengths == [0, *([3, 2, 1] * 33), 0, *([3, 2, 1] * 33), 0, 3]


def test_where_the_engine_stops_is_a_difference_too():
    both = LockStep("pitfall", facts("pitfall"))

    class Stopping:
        def __getattr__(self, name):
            return getattr(LockStep("pitfall", facts("pitfall"))._machine, name)

        def frame(self, action, drawing):
            raise RuntimeError("a frame that does not end in time")

    both._machine = Stopping()
    compared = both.compare(next(plays([], b"", seed=1)))
    assert "the native engine stops at a frame that does not end in time" in compared.difference


def test_a_difference_is_told():
    class Generous:
        """Gives a point where the game does not."""

        def __init__(self, machine):
            self._machine, self._frames = machine, 0

        def __getattr__(self, name):
            return getattr(self._machine, name)

        def __array__(self, dtype=None, copy=None):
            return np.asarray(self._machine)

        def frame(self, action, drawing):
            self._frames += 1
            return self._machine.frame(action, drawing) + (self._frames == 42)

    both = LockStep("pitfall", facts("pitfall"))
    both._machine = Generous(both._machine)
    compared = both.compare(next(plays([], b"", seed=1)))
    assert compared.game_frames == 41
    assert "reward 1, not 0" in compared.difference


@pytest.mark.parametrize(
    ("game", "episode_end"),
    [("montezuma_revenge", "life-loss"), ("montezuma_revenge", "game-over"), ("pitfall", None)],
)
def test_rewards_locations_and_ends_are_those_of_ale_py(game, episode_end):
    settings = {"episode_end": episode_end, "frame_skip": 6, "full_action_set": True, "facts": facts(game)}
    envs = [kind(game=game, **settings) for kind in (NativeAtariEnv, AtariEnv)]
    random, action = SplitMix64(1), 0
    for number in range(250):
        if number % 5 == 0:
            action = int(random.below(18, 1)[0])
        one, other = (env.step(action) for env in envs)
        assert one == other
        assert envs[0].location() == envs[1].location() != NOWHERE
        if one.ended:
            break
    assert one.ended or game == "pitfall"


@pytest.mark.parametrize("game", ALL_GAMES)
def test_grey_levels_are_those_of_ale_py(game):
    env = AtariEnv(game=game)
    for action in some_actions(env.action_count, 200):
        env.step(action)
        assert (NTSC_GREY[env.observation()] == env._ale.getScreenGrayscale()).all()


def test_a_score_counter_that_rolls_over_does_not_cost_points(monkeypatch):
    class RolledOver:
        lives, over = 6, False

        def play(self, action, frame_skip):
            return -999_900

    env = NativeAtariEnv(game="montezuma_revenge", facts=facts("montezuma_revenge"))
    monkeypatch.setattr(env, "_machine", RolledOver())
    assert env.step(0).reward == 100.0


def test_a_game_that_the_engine_does_not_know_is_refused():
    with pytest.raises(ConfigError, match="cannot play 'breakout': set `engine` to ale"):
        NativeAtariEnv(game="breakout")


# ---- snapshots --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("game", GAMES)
def test_a_snapshot_plays_on_in_another_machine(game):
    one, other = (NativeAtariEnv(game=game) for _ in range(2))
    actions = some_actions(one.action_count, 160)
    play(one, actions[:80])
    play(other, actions[40:60])
    other.restore(one.snapshot())
    assert other.snapshot() == one.snapshot()
    assert play(other, actions[80:]) == play(one, actions[80:])


@pytest.mark.parametrize("damage", [lambda state: b"", lambda state: state[1:], lambda state: state + b"\0"])
def test_bytes_of_another_size_are_no_state(damage):
    env = NativeAtariEnv(game="montezuma_revenge")
    bad = damage(env.snapshot())
    with pytest.raises(
        SnapshotError, match=f"expected a state of the native engine, got {len(bad)} other bytes"
    ):
        env.restore(bad)


def impossible_states(game, state):
    view = (VIEWS[game]).to_bytes(2, "little")
    yield state[: FIELDS["view"]] + view + state[FIELDS["view"] + 2 :]
    yield changed(state, FIELDS["cycle"], 76)
    yield changed(state, FIELDS["cycle"] + 3, 0x80)
    yield changed(state, FIELDS["timer shift"], 32)
    yield changed(state, FIELDS["collisions"] + 1, 0x80)
    yield changed(state, FIELDS["pending"], 0x80)
    yield changed(state, FIELDS["over"], 2)
    yield changed(state, FIELDS["layout"], state[FIELDS["layout"]] + 1)  # of a later version
    yield from (changed(state, flag, 2) for flag in FLAGS)
    yield from (changed(state, position, 160) for position in POSITIONS)


@pytest.mark.parametrize("game", GAMES)
def test_a_state_in_which_no_machine_can_be_is_refused(game):
    env = NativeAtariEnv(game=game)
    play(env, some_actions(env.action_count, 50))
    before = env.snapshot()
    for state in impossible_states(game, before):
        with pytest.raises(SnapshotError, match="expected a state of the native engine"):
            env.restore(state)
    assert env.snapshot() == before


def try_out(env, state, actions):
    try:
        env.restore(state)
        play(env, actions)
    except SnapshotError:
        return "refused"
    except EngineError:
        return "stopped"
    return "played"


@pytest.mark.parametrize("game", GAMES)
def test_no_damage_to_a_single_byte_does_harm(game):
    env = NativeAtariEnv(game=game)
    actions = some_actions(env.action_count, 60)
    expected = play(env, actions)
    state = env.snapshot()
    outcomes = Counter(
        try_out(env, changed(state, at, state[at] ^ flip), actions[:2])
        for at, flip in itertools.product(range(len(state)), (0x01, 0x80, 0xFF))
    )
    assert outcomes["refused"] > 20
    assert outcomes["stopped"] > 0
    assert outcomes["played"] > 300
    env.reset()
    assert play(env, actions) == expected


# ---- cartridges -------------------------------------------------------------------------------------------


def test_a_rom_that_asks_for_what_is_not_modelled_stops_the_machine():
    machine = native.atari.Machine(native.atari.Cartridge(bytes(4096), "pitfall"))
    with pytest.raises(RuntimeError, match="code outside the cartridge"):
        machine.play(bytes(1), 4)


def test_a_rom_of_no_known_size_is_refused():
    with pytest.raises(ValueError, match="pitfall of 100 bytes"):
        native.atari.Cartridge(bytes(100), "pitfall")


@pytest.mark.parametrize(("actions", "frame_skip"), [(b"\x00\x12", 4), (b"\x00", 0), (b"\x00", 65536)])
def test_actions_and_frame_skips_that_do_not_exist_are_refused(actions, frame_skip):
    machine = native.atari.Machine(native.atari.Cartridge(read_rom("pitfall"), "pitfall"))
    with pytest.raises(ValueError, match=r"expected (actions below 18|a frame skip)"):
        machine.play(actions, frame_skip)


# ---- translation ------------------------------------------------------------------------------------------


def program():
    """Return a ROM that switches banks, calls, waits for the timer, counts in decimal, draws and jumps."""
    banks = [bytearray(1024) for _ in range(8)]
    for number, bank in enumerate(banks):
        bank[:7] = 0xA9, 16 * number + 5, 0x85, 0x93, 0x85, 0x06, 0x60  # LDA # STA $93 STA COLUP0 RTS
    code = bytes.fromhex(
        "A2FF 9A"  # LDX #255 TXS
        "A902 8502 8500 8502 8502"  # LDA #2 STA WSYNC STA VSYNC STA WSYNC STA WSYNC
        "A900 8502 8500"  # LDA #0 STA WSYNC STA VSYNC, which ends the frame
        "AD8002 8590"  # LDA SWCHA STA $90
        "E691 A591 2903 AA"  # INC $91 LDA $91 AND #3 TAX
        "BDE01F 2000F0"  # LDA $1FE0,X JSR $F000
        "F8 18 A592 6593 8592 D8"  # SED CLC LDA $92 ADC $93 STA $92 CLD
        "A9FF 8D9402 A2F0 CA D0FD AD8402 8594"  # LDA #255 STA TIM1T LDX #240 DEX BNE LDA INTIM STA $94
        "A920 8D9602 AD8402 D0FB"  # LDA #32 STA TIM64T LDA INTIM BNE
        "A060"  # LDY #96
        "8502 8409 B900FC 851B 8510 88 D0F2"  # STA WSYNC STY COLUBK LDA $FC00,Y STA GRP0 STA RESP0 DEY BNE
        "6CF0FF"  # JMP ($FFF0)
    )
    banks[7][: len(code)] = code
    banks[7][-16:-14] = 0x03, 0xFC
    banks[7][-4:-2] = 0x00, 0xFC
    return b"".join(banks)


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def translator(monkeypatch, cache):
    """Translates into a folder of its own, and no thread goes on with that when a test has ended."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(cache))
    monkeypatch.setattr(translation, "_TRACED_FRAMES", 400)
    monkeypatch.setattr(translation._Keeper, "watch", lambda self: None)
    return lambda cartridge, rom: use_translation(cartridge, rom, native.atari.VERSION)


@pytest.fixture
def quick_compiler(monkeypatch):
    """For tests of what is kept, not of how fast it is."""
    monkeypatch.setattr(translation, "_COMPILER_FLAGS", ("-O0", "-shared", "-fPIC", "-w"))


def assert_translated_is_interpreted(game, rom, translator):
    if shutil.which(os.environ.get("CC", "cc")) is None:
        pytest.skip("needs a C compiler")
    interpreted, translated = (native.atari.Cartridge(rom, game) for _ in range(2))
    translator(translated, rom)
    assert translated.translated
    actions = some_actions(18, 1000)
    played = play_machine(native.atari.Machine(translated), actions, frame_skip=3)
    assert played == play_machine(native.atari.Machine(interpreted), actions, frame_skip=3)
    return played


def test_a_translated_program_runs_as_the_interpreted_one(translator):
    played = assert_translated_is_interpreted("montezuma_revenge", program(), translator)
    memories = [NativeAtariEnv.native_memory(state) for _, state, _ in played]
    assert len({memory[0x10] for memory in memories}) == 9  # directions of the joystick
    assert {memory[0x13] for memory in memories} == {0x05, 0x15, 0x25, 0x35}  # what each bank leaves there
    assert len({screen for _, _, screen in played}) == 4


@pytest.mark.slow
@pytest.mark.parametrize("game", ALL_GAMES)
def test_a_translated_game_plays_as_the_interpreted_one(game, translator):
    assert_translated_is_interpreted(game, read_rom(game), translator)


@pytest.mark.usefixtures("quick_compiler")
def test_a_translation_is_kept_for_the_next_time(translator, cache):
    def files():
        return {file: file.stat().st_ino for file in cache.rglob("*") if file.is_file()}

    assert_translated_is_interpreted("montezuma_revenge", program(), translator)
    before = files()
    assert {file.suffix for file in before} == {".so", ".code"}
    assert_translated_is_interpreted("montezuma_revenge", program(), translator)
    assert files() == before


@pytest.fixture
def library(translator, quick_compiler, cache, tmp_path, monkeypatch):
    """A translation of the program that was not loaded from where it is."""
    assert_translated_is_interpreted("montezuma_revenge", program(), translator)
    copy = shutil.copytree(cache, tmp_path / "copy")
    monkeypatch.setenv("XDG_CACHE_HOME", str(copy))
    return max(copy.rglob("*.so"), key=lambda file: file.stat().st_mtime_ns)  # the one used last


def test_half_a_translation_is_made_again(translator, library):
    """Loading it would end the process."""
    size = library.stat().st_size
    os.truncate(library, size // 2)
    assert_translated_is_interpreted("montezuma_revenge", program(), translator)
    assert library.stat().st_size == size


def test_nothing_is_loaded_that_somebody_else_may_have_written(translator, library):
    library.chmod(0o722)
    assert_translated_is_interpreted("montezuma_revenge", program(), translator)
    assert library.stat().st_mode & 0o777 == 0o700, "it was made again"
    library.parent.chmod(0o770)
    with pytest.raises(TranslationError, match=f"others may write to {library.parent}; `chmod 700` it"):
        translator(native.atari.Cartridge(program(), "montezuma_revenge"), program())


@pytest.mark.usefixtures("quick_compiler")
def test_what_was_not_used_for_a_week_goes(translator, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = tmp_path / "goexplore" / "translations"
    (folder / "making-1").mkdir(parents=True, mode=0o700)
    folder.chmod(0o700)
    for name in ("old.so", "new.so", "making-1"):
        (folder / name).touch()
        if name != "new.so":
            os.utime(folder / name, (0, 0))
    assert_translated_is_interpreted("montezuma_revenge", program(), translator)
    left = {file.name for file in folder.iterdir()}
    assert "new.so" in left
    assert not left & {"old.so", "making-1"}


def test_an_engine_compiled_from_other_sources_gets_no_translation(translator):
    with pytest.raises(TranslationError, match="sources changed since it was compiled; reinstall"):
        use_translation(native.atari.Cartridge(program(), "montezuma_revenge"), program(), "another")


@pytest.mark.usefixtures("quick_compiler")
def test_a_translation_grows_with_what_is_played(cache, tmp_path, monkeypatch):
    """Machines of before and after play side by side, and nobody notices."""
    if shutil.which(os.environ.get("CC", "cc")) is None:
        pytest.skip("needs a C compiler")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(translation._Keeper, "_known_code", lambda self: np.zeros(32768, np.uint8))
    interpreted, translated = (native.atari.Cartridge(program(), "montezuma_revenge") for _ in range(2))
    keeper = translation._Keeper(translated, program(), native.atari.VERSION)
    keeper.translate()
    actions, filled = some_actions(18, 300), Event()

    def play_until_filled():
        first = native.atari.Machine(translated)
        while True:
            last_time = filled.is_set()
            first.reset()
            yield play_machine(first, actions)
            yield play_machine(native.atari.Machine(translated), actions)
            if last_time:
                return

    with ThreadPoolExecutor(1) as pool:
        playing = pool.submit(lambda: list(play_until_filled()))
        while not (keeper.fill_gaps() or playing.done()):
            sleep(0.01)
        assert not keeper.fill_gaps() or not keeper.fill_gaps(), "what was played is known now"
        filled.set()
        played = playing.result()
    assert len(keeper._libraries) > 1
    expected = play_machine(native.atari.Machine(interpreted), actions)
    assert all(each == expected for each in played)


def test_code_beyond_the_rom_is_not_translated():
    rom = program()[-4096:]
    damaged = bytes(4096) + b"\1" * 28672
    assert translate(rom, damaged, sliced=False) == translate(rom, bytes(32768), sliced=False)


@pytest.mark.parametrize(
    ("compiler", "reason"),
    [
        ("/nonexistent", "no C compiler '/nonexistent'"),
        ("false", "false failed with 1"),
        ("cc '", "CC=cc ' is no command: No closing quotation"),
        (f"{sys.executable} -c 'exit(\"no header\")'", "python.* failed with 1: no header"),
    ],
)
def test_without_a_compiler_that_works_the_interpreter_plays(
    compiler, reason, translator, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setenv("CC", compiler)
    game = "montezuma_revenge"
    cartridge = native.atari.Cartridge(read_rom(game), game)
    with pytest.raises(TranslationError, match=reason):
        translator(cartridge, read_rom(game))
    assert not cartridge.translated
    env = NativeAtariEnv(game=game)
    numbers = action_numbers(game, full=False)
    actions = some_actions(env.action_count, 50)
    played = play_machine(native.atari.Machine(cartridge), [numbers[action] for action in actions])
    assert [state for _, state, _ in played] == [state for _, state, _ in play(env, actions)]
