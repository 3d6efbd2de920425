"""What a user's functions say of a state: objectives and events, and what is wrong with bad ones."""

import numpy as np
import pytest

from goexplore.cells import CellEnvironment, FunctionCells, require_event_rules
from goexplore.errors import ConfigError, EnvironmentContractError
from tests.fields import Buggy, itself


def cell_env(**settings):
    made = CellEnvironment(Buggy(), FunctionCells(itself), **settings)
    made.reset()
    return made


def happening(**events):
    made = cell_env(events=events)
    return made.events.happening(made.env)


def test_a_function_may_ask_for_the_observation_alone_or_for_info_too():
    assert cell_env(objective=lambda observation, info: info["energy"]).objective() == 200.0
    assert cell_env(objective=lambda observation: 1 - observation[0]).objective() == 1.0
    assert cell_env().objective() is None


def test_events_are_named_in_the_order_of_their_names():
    assert happening(b=lambda observation: True, c=lambda observation: False, a=lambda *both: True) == [
        "a",
        "b",
    ]


def test_an_event_may_be_an_exception_which_includes_those_derived_from_it():
    events = cell_env(events={"lookup": LookupError, "any": Exception, "value": ValueError}).events
    assert events.raised_by(KeyError()) == ["any", "lookup"]
    assert not events, "there is nothing to ask of a state"


@pytest.mark.parametrize("value", [1, 2.5, True, np.float32(2.5), np.int8(-3), np.array(4.0)])
def test_an_objective_may_be_any_number(value):
    found = cell_env(objective=lambda observation: value).objective()
    assert type(found) is float
    assert found == float(value)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), None, "high", np.zeros(3)])
def test_an_objective_that_is_no_finite_number_is_refused(value):
    with pytest.raises(EnvironmentContractError, match="expected the objective to be a finite number, got "):
        cell_env(objective=lambda observation: value).objective()


@pytest.mark.parametrize("value", [None, 1, np.array([True, False]), "yes"])
def test_an_event_that_is_neither_true_nor_false_is_refused(value):
    with pytest.raises(EnvironmentContractError, match="expected the event odd to be True or False, got "):
        happening(odd=lambda observation: value)


def test_a_function_that_raises_is_named():
    with pytest.raises(
        EnvironmentContractError, match="the event odd to raise nothing, got KeyError: 'x': fix"
    ):
        happening(odd=lambda observation, info: info["x"])


@pytest.mark.parametrize(
    ("events", "message"),
    [
        ([], "expected `events` to be a mapping .* got list"),
        ({"crash": 3}, r"expected the event crash to be a function of \(observation, info\), got 3"),
        ({"crash": lambda: True}, r"or of the observation, got <lambda>\(\)"),
        ({"crash": lambda a, b, c: True}, "or of the observation, got <lambda>"),
        ({"a b": itself}, "expected names of `events` to be made of letters"),
        ({3: itself}, "expected names of `events` to be made of letters"),
        ({"worker-crash": itself}, "expected names of `events` other than worker-crash and worker-hang"),
    ],
)
def test_bad_events_are_refused(events, message):
    with pytest.raises(ConfigError, match=message):
        require_event_rules(events)
