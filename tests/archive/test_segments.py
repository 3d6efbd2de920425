from goexplore.archive import START, Branch, SegmentTree


def test_a_trajectory_is_the_chain_of_its_segments():
    tree = SegmentTree()
    first = tree.add(START, b"abcdef")
    second = tree.add(Branch(first, 4), b"xyz")
    assert tree.trajectory(Branch(second, 2)) == b"abcdxy"
    assert tree.trajectory(Branch(first, 6)) == b"abcdef"
    assert tree.trajectory(START) == b""


def test_a_segment_lives_while_it_or_a_descendant_is_held():
    tree = SegmentTree()
    first = tree.add(START, b"a")
    second = tree.add(Branch(first, 1), b"b")
    tree.hold(first)
    tree.hold(second)
    tree.release(first)
    assert tree.living() == [0, first, second]
    assert tree.trajectory(Branch(second, 1)) == b"ab"
    tree.release(second)
    assert tree.living() == [0]
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
    assert tree.living() == list(range(len(tree)))
    assert [int(renumbered[old]) for old in kept] == sorted(int(renumbered[old]) for old in kept)
    for old, trajectory in kept.items():
        assert tree.trajectory(Branch(int(renumbered[old]), 1)) == trajectory
