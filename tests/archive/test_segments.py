import pytest

from goexplore.archive import START, Branch, SegmentTree, action_bytes, pack_actions, unpack_actions


@pytest.mark.parametrize(("action_count", "size"), [(1, 1), (256, 1), (257, 2), (65_536, 2)])
def test_an_action_takes_one_byte_or_two_where_one_is_not_enough(action_count, size):
    assert action_bytes(action_count) == size
    actions = [0, action_count - 1, action_count // 2]
    packed = pack_actions(actions, size)
    assert len(packed) == 3 * size
    assert list(unpack_actions(packed, size)) == actions


def test_actions_are_bytes_where_one_is_enough_and_little_endian_numbers_elsewhere():
    assert unpack_actions(pack_actions([7, 255], 1), 1) == b"\x07\xff"
    assert pack_actions([7, 999], 2) == b"\x07\x00\xe7\x03"
    assert unpack_actions(b"\x07\x00\xe7\x03", 2) == (7, 999)


def test_a_trajectory_is_the_chain_of_its_segments():
    tree = SegmentTree()
    first = tree.add(START, b"abcdef")
    second = tree.add(Branch(first, 4), b"xyz")
    assert tree.trajectory(Branch(second, 2)) == b"abcdxy"
    assert tree.trajectory(Branch(first, 6)) == b"abcdef"
    assert tree.trajectory(START) == b""


def test_offsets_count_actions_whatever_their_size():
    tree = SegmentTree(action_bytes=2)
    first = tree.add(START, pack_actions([1000, 2, 3000], 2))
    second = tree.add(Branch(first, 2), pack_actions([60_000, 5], 2))
    assert tree.trajectory(Branch(second, 1)) == (1000, 2, 60_000)
    assert tree.trajectory(START) == ()


def test_a_segment_lives_while_it_or_a_descendant_is_held():
    tree = SegmentTree()
    first = tree.add(START, b"a")
    second = tree.add(Branch(first, 1), b"b")
    tree.hold(first)
    tree.hold(second)
    tree.release(first)
    assert tree.living().tolist() == [0, first, second]
    assert tree.trajectory(Branch(second, 1)) == b"ab"
    tree.release(second)
    assert tree.living().tolist() == [0]
    assert len(tree) == 1


def test_compacting_keeps_order_and_trajectories():
    tree = SegmentTree()
    kept = {}
    parent = START
    for number in range(50):
        segment = tree.add(parent, bytes([number]))
        tree.hold(segment)
        if number % 10 == 0:
            parent = Branch(segment, 1)
            kept[segment] = tree.trajectory(parent)
        else:
            tree.release(segment)
    renumbered = tree.compact()
    assert tree.living().tolist() == list(range(len(tree)))
    assert [int(renumbered[old]) for old in kept] == sorted(int(renumbered[old]) for old in kept)
    for old, trajectory in kept.items():
        assert tree.trajectory(Branch(int(renumbered[old]), 1)) == trajectory
