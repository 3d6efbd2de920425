import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from goexplore.selection import SumTree


def tree_of(weights):
    tree = SumTree()
    tree.grow(len(weights))
    tree.set(np.arange(len(weights)), np.array(weights))
    return tree


def test_a_position_on_the_wheel_finds_its_leaf():
    tree = tree_of([1.0, 2.0, 3.0])
    assert tree.total == 6.0
    assert tree.find(np.array([0.0, 0.99, 1.0, 2.99, 3.0, 5.99])).tolist() == [0, 0, 1, 1, 2, 2]


@given(st.lists(st.floats(0, 1e6), min_size=1, max_size=70), st.lists(st.integers(0, 69), max_size=30))
def test_a_tree_that_was_updated_has_the_bits_of_one_that_was_rebuilt(weights, changes):
    tree = SumTree()
    for size in range(1, len(weights) + 1):
        tree.grow(size)
        tree.set(np.array([size - 1]), np.array([weights[size - 1]]))
    for change in changes:
        if change < len(weights):
            weights[change] = weights[change] / 3 + 1
            tree.set(np.array([change]), np.array([weights[change]]))
    assert tree._nodes.tobytes() == tree_of(weights)._nodes.tobytes()


@given(
    st.lists(st.one_of(st.just(0.0), st.floats(1e-12, 1e12)), min_size=1, max_size=40),
    st.floats(0, 1, exclude_max=True),
)
def test_nothing_without_weight_is_ever_found(weights, fraction):
    tree = tree_of(weights)
    if tree.total > 0:
        leaf = int(tree.find(np.array([fraction * tree.total]))[0])
        assert weights[leaf] > 0
        assert weights[int(tree.find(np.array([tree.total]))[0])] > 0
