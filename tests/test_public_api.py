import goexplore


def test_everything_that_is_offered_is_there():
    assert sorted(goexplore.__all__) == sorted(name for names in goexplore._HOMES.values() for name in names)
    for name in goexplore.__all__:
        assert getattr(goexplore, name) is not None


def test_what_is_not_offered_is_not_there():
    assert not hasattr(goexplore, "numpy")
