from hypothesis import given
from hypothesis import strategies as st

from goexplore.archive._byte_store import ByteStore


@given(st.lists(st.tuples(st.booleans(), st.binary(max_size=60)), max_size=200))
def test_it_gives_back_what_was_put_whatever_was_freed(operations):
    store, kept = ByteStore(), {}
    for discard, value in operations:
        if discard and kept:
            handle = next(iter(kept))
            assert store.get(handle) == kept.pop(handle)
            store.discard(handle)
        else:
            handle = store.put(value)
            assert handle not in kept
            kept[handle] = value
    assert {handle: store.get(handle) for handle in kept} == kept


def test_freed_room_is_used_again():
    store = ByteStore()
    handles = [store.put(bytes(100)) for _ in range(100)]
    size = len(store._data)
    for handle in handles:
        store.discard(handle)
    for _ in range(100):
        store.put(bytes(97))
    assert len(store._data) == size


def test_long_strings_are_kept():
    store = ByteStore()
    assert store.get(store.put(bytes(200_000))) == bytes(200_000)
