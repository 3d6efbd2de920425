"""Network, PPO and self-imitation, against small sums by hand."""

import dataclasses

import numpy as np
import pytest
import torch

from goexplore.errors import ConfigError, TrainingError
from goexplore.random import SplitMix64
from goexplore.training import NetworkConfig, Policy, PPOConfig, RolloutConfig
from goexplore.training._group import ProcessGroup
from goexplore.training._ppo import Experience, Learner, estimate_advantages
from goexplore.training._random_streams import RandomStreams
from goexplore.training._sampler import DemonstrationBatch, DemonstrationSampler
from tests.fields import Lock
from tests.training.mazes import ACTIONS, buffer, demonstrate

SHAPE = (1, 15, 20)
TINY = NetworkConfig(channels=(), hidden=16)
RECURRENT = NetworkConfig(kind="recurrent", channels=(), hidden=16)


def make_policy(config=TINY):
    torch.manual_seed(0)
    return Policy(config, shape=SHAPE, actions=5)


def make_learner(policy, **settings):
    return Learner(
        policy,
        PPOConfig(**{"minibatches": 1, "epochs": 1, **settings}),
        ProcessGroup(),
        RandomStreams(0, 0, 0),
    )


def experience(steps=4, environments=3, *, hidden=0, **changes):
    random = np.random.default_rng(0)
    shape = (steps, environments)
    made = Experience(
        observations=random.integers(0, 255, (*shape, *SHAPE), dtype=np.uint8),
        actions=random.integers(0, 5, shape),
        log_probabilities=np.full(shape, np.log(0.2), np.float32),
        values=random.normal(size=shape).astype(np.float32),
        rewards=random.normal(size=shape).astype(np.float32),
        over=np.zeros(shape, np.bool_),
        episode_start=np.zeros(shape, np.bool_),
        mask=np.ones(shape, np.bool_),
        memory=np.zeros((environments, hidden), np.float32),
        last_values=np.zeros(environments, np.float32),
    )
    return dataclasses.replace(made, **changes)


def nobody():
    raise AssertionError("nobody asked for imitation")


def weights(policy):
    return torch.cat([each.detach().flatten() for each in policy.parameters()])


class TestAdvantages:
    def column(self, **values):
        return experience(
            3, 1, **{name: np.array(value)[:, None].astype(np.float32) for name, value in values.items()}
        )

    def test_by_hand(self):
        one = self.column(rewards=[0, 0, 1], values=[0.5, 0.4, 0.3])
        one.last_values[:] = 2.0
        last = 1 + 0.9 * 2.0 - 0.3
        middle = 0 + 0.9 * 0.3 - 0.4 + 0.9 * 0.5 * last
        first = 0 + 0.9 * 0.4 - 0.5 + 0.9 * 0.5 * middle
        np.testing.assert_allclose(estimate_advantages(one, 0.9, 0.5)[:, 0], [first, middle, last], rtol=1e-6)

    def test_nothing_follows_the_end_of_a_rollout(self):
        one = self.column(rewards=[0, 1, 5], values=[0.5, 0.4, 0.3])
        one.over[1] = True
        one.last_values[:] = 2.0
        found = estimate_advantages(one, 0.9, 0.5)[:, 0]
        assert found[1] == pytest.approx(1 - 0.4)
        assert found[0] == pytest.approx(0.9 * 0.4 - 0.5 + 0.45 * (1 - 0.4))


class TestMemory:
    def test_sequences_give_what_single_steps_give(self):
        policy = make_policy(RECURRENT)
        observations = torch.randint(0, 255, (6, 2, *SHAPE), dtype=torch.uint8)
        episode_start = torch.zeros(6, 2, dtype=torch.bool)
        episode_start[3, 1] = True
        logits, values = policy.unroll(observations, policy.empty_memory(2), episode_start)
        memory = policy.empty_memory(2)
        for step in range(6):
            memory = memory * (~episode_start[step]).unsqueeze(-1)
            one, value, memory = policy(observations[step], memory)
            torch.testing.assert_close(one, logits[step])
            torch.testing.assert_close(value, values[step])

    def test_what_was_seen_before_changes_what_is_done(self):
        """Earlier code lost the burn-in silently."""
        policy = make_policy(RECURRENT)
        now = torch.randint(0, 255, (1, 1, *SHAPE), dtype=torch.uint8)
        before = torch.randint(0, 255, (5, 1, *SHAPE), dtype=torch.uint8)
        episode_start = torch.zeros(6, 1, dtype=torch.bool)
        with_history, _ = policy.unroll(torch.cat([before, now]), policy.empty_memory(1), episode_start)
        alone, _ = policy.unroll(now, policy.empty_memory(1), episode_start[:1])
        assert not torch.allclose(with_history[-1], alone[-1])

    def test_a_feed_forward_policy_remembers_nothing(self):
        assert make_policy().empty_memory(3).shape == (3, 0)


class TestLearning:
    def test_what_turned_out_well_becomes_likelier(self):
        policy = make_policy()
        one = experience(8, 4, rewards=np.zeros((8, 4), np.float32), values=np.zeros((8, 4), np.float32))
        one.actions[:] = np.arange(8)[:, None] % 5
        one.over[:] = True
        one.rewards[one.actions == 2] = 1.0
        learner = make_learner(policy, imitation=0.0, epochs=20, learning_rate=1e-2)
        learner.update(one, nobody)
        logits, _, _ = policy(torch.from_numpy(one.observations[0]), policy.empty_memory(4))
        assert (logits.argmax(-1) == 2).all()

    @pytest.mark.parametrize("config", [TINY, RECURRENT])
    def test_steps_that_do_not_count_change_nothing(self, config):
        """A burn-in fills the memory; its actions, rewards and estimates are nobody's business."""
        learnt = []
        for rubbish in (0.0, 50.0):
            policy = make_policy(config)
            one = experience(6, 2, hidden=policy.empty_memory(1).shape[1])
            one.mask[:3] = False
            one.over[2] = True  # so that nothing leaks through the estimates
            one.rewards[:3] += rubbish
            one.log_probabilities[:3] -= rubbish
            one.actions[:3] = int(rubbish) % 5
            make_learner(policy, imitation=0.0).update(one, nobody)
            learnt.append(weights(policy))
        torch.testing.assert_close(learnt[0], learnt[1], rtol=1e-4, atol=1e-6)

    def test_a_loss_that_is_not_a_number_stops_the_training(self):
        policy = make_policy()
        before = weights(policy)
        one = experience()
        one.rewards[0, 0] = np.nan
        with pytest.raises(TrainingError, match="`learning_rate`"):
            make_learner(policy, imitation=0.0).update(one, nobody)
        assert torch.equal(weights(policy), before), "a bad step is not taken"

    def test_the_paper_s_network_fits_its_screens(self):
        config = NetworkConfig(kind="recurrent", channels=(64, 128, 128), hidden=800, normalise=True)
        policy = Policy(config, shape=(12, 105, 80), actions=18)
        logits, values, memory = policy(
            torch.zeros(2, 12, 105, 80, dtype=torch.uint8), policy.empty_memory(2)
        )
        assert (logits.shape, values.shape, memory.shape) == ((2, 18), (2,), (2, 800))

    def test_convolutions_that_an_image_is_too_small_for_are_left_out(self):
        """Of 15 rows, the first convolution leaves two: too few for the second."""
        policy = Policy(NetworkConfig(channels=(16, 32, 64)), shape=SHAPE, actions=5)
        assert [each.out_channels for each in policy.features if hasattr(each, "out_channels")] == [16]
        tiny = Policy(NetworkConfig(channels=(16, 32)), shape=(2, 5, 5), actions=5)
        assert tiny.hidden[0].in_features == 2 * 5 * 5
        logits, _, _ = tiny(torch.zeros(3, 2, 5, 5, dtype=torch.uint8), tiny.empty_memory(3))
        assert logits.shape == (3, 5)

    def test_networks_without_units_are_refused(self):
        with pytest.raises(ConfigError, match="`channels` and `hidden` of 1 or more"):
            NetworkConfig(hidden=0)


class TestVectors:
    def test_two_layers_take_the_place_of_convolutions(self):
        policy = Policy(NetworkConfig(channels=(16, 32), hidden=7), shape=(3,), actions=2)
        shapes = {name: tuple(each.shape) for name, each in policy.named_parameters()}
        assert shapes["features.0.weight"] == (7, 3)
        assert shapes["hidden.0.weight"] == (7, 7)
        logits, values, _ = policy(torch.zeros(4, 3), policy.empty_memory(4))
        assert (logits.shape, values.shape) == ((4, 2), (4,))

    def test_they_are_standardised_by_what_the_demonstrations_show(self):
        """Whatever the units: a metre and a millimetre are the same to the network."""
        metres, millimetres = (Policy(TINY, shape=(2,), actions=2) for _ in range(2))
        millimetres.load_state_dict(metres.state_dict())
        mean, deviation = np.array([5.0, 0.0], np.float32), np.array([2.0, 1.0], np.float32)
        metres.standardise(mean, deviation)
        millimetres.standardise(1000 * mean, 1000 * deviation)
        seen = torch.tensor([[7.0, 3.0], [5.0, 0.0]])
        torch.testing.assert_close(metres.see(seen), millimetres.see(1000 * seen))

    def test_mean_and_deviation_are_no_parameters_but_are_saved(self):
        policy = Policy(TINY, shape=(2,), actions=2)
        policy.standardise(np.array([5.0, 0.0], np.float32), np.array([2.0, 4.0], np.float32))
        saved = policy.state_dict()
        assert saved["offset"].tolist() == [5.0, 0.0]
        assert saved["scale"].tolist() == [0.5, 0.25]
        assert not {"offset", "scale"} & {name for name, _ in policy.named_parameters()}

    def test_a_recurrent_policy_sees_them_too(self):
        policy = Policy(RECURRENT, shape=(2,), actions=2)
        logits, _ = policy.unroll(
            torch.zeros(5, 3, 2), policy.empty_memory(3), torch.zeros(5, 3, dtype=torch.bool)
        )
        assert logits.shape == (5, 3, 2)


class TestImitation:
    def batch(self, action=3, returns=1.0):
        shape = (1, 8)
        return DemonstrationBatch(
            observations=np.random.default_rng(0).integers(0, 255, (*shape, *SHAPE), dtype=np.uint8),
            actions=np.full(shape, action),
            returns=np.full(shape, returns, np.float32),
            episode_start=np.zeros(shape, np.bool_),
            mask=np.ones(shape, np.bool_),
        )

    def likely(self, policy, batch):
        logits, _, _ = policy(torch.from_numpy(batch.observations[0]), policy.empty_memory(8))
        return logits.softmax(-1)[:, 3].mean().item()

    def test_a_demonstration_that_does_better_is_followed(self):
        policy, batch = make_policy(), self.batch()
        before = self.likely(policy, batch)
        for _ in range(30):
            make_learner(policy, imitation=1.0, learning_rate=1e-2).update(experience(), lambda: batch)
        assert self.likely(policy, batch) > before + 0.2

    def test_one_that_does_worse_than_expected_is_not(self):
        policy = make_policy()
        learner = make_learner(policy)
        assert learner._imitation(self.batch(returns=-10.0)).item() == 0.0

    def test_cloning_follows_it_whatever_it_won(self):
        policy, batch = make_policy(), self.batch(returns=-10.0)
        learner = make_learner(policy, learning_rate=1e-2)
        losses = [learner.clone(batch) for _ in range(30)]
        assert losses[-1] < 0.2 * losses[0]


class TestSampler:
    def test_returns_are_discounted(self):
        sampler = DemonstrationSampler(buffer(), RolloutConfig(), discount=0.5)
        drawn = sampler.draw(SplitMix64(0), [60], count=50)
        points = {
            (int(action), round(float(worth), 4))
            for action, worth in zip(drawn.actions[0], drawn.returns[0], strict=True)
        }
        assert points == {(ACTIONS[60], 0.25), (ACTIONS[61], 0.5), (ACTIONS[62], 1.0)}

    def test_it_draws_from_the_earliest_point_on(self):
        sampler = DemonstrationSampler(buffer(), RolloutConfig(), discount=1.0)
        early = sampler.draw(SplitMix64(0), [0], count=200)
        late = sampler.draw(SplitMix64(0), [30], count=200)
        assert set(early.returns[0].tolist()) == {1.0, 2.0}
        assert set(late.returns[0].tolist()) == {1.0}

    def test_stretches_have_a_burn_in_that_does_not_count(self):
        demonstrated = buffer()
        drawn = DemonstrationSampler(demonstrated, RolloutConfig(), 0.9).draw(
            SplitMix64(0), [62], count=1, length=3, burn_in=4
        )
        assert drawn.mask[:, 0].tolist() == [False] * 4 + [True, False, False]
        np.testing.assert_array_equal(drawn.observations[0, 0], demonstrated.observation(0, 58))

    def test_stretches_that_reach_back_beyond_the_beginning_forget_there(self):
        drawn = DemonstrationSampler(buffer(), RolloutConfig(), 0.9).draw(
            SplitMix64(0), [0], count=300, length=2, burn_in=3
        )
        assert drawn.episode_start.any(0).sum() > 3
        assert drawn.mask[3].all()

    def test_actions_above_255_are_drawn_as_they_are(self):
        drawn = DemonstrationSampler(buffer(demonstrate((950, 0, 899), Lock)), RolloutConfig(), 1.0).draw(
            SplitMix64(0), [0], count=30
        )
        found = set(zip(drawn.actions[0].tolist(), drawn.returns[0].tolist(), strict=True))
        assert found == {(950, 2.0), (0, 1.0), (899, 1.0)}
        assert drawn.observations.dtype == np.float32


class TestStepSizes:
    """Of the policy, and of a value with a layer of its own."""

    OWN = NetworkConfig(channels=(), hidden=16, value_hidden=4)

    def step_sizes(self, training_frames, config=OWN, **settings):
        learner = make_learner(make_policy(config), learning_rate=1e-3, **settings)
        learner.decay(training_frames)
        return [group["lr"] for group in learner.optimizer.param_groups]

    def test_they_stay_as_they_are(self):
        assert self.step_sizes(10**9, value_learning_rate=5e-3) == [1e-3, 5e-3]

    def test_without_its_own_the_value_has_the_policy_s(self):
        assert self.step_sizes(0) == [1e-3, 1e-3]
        assert self.step_sizes(0, TINY, value_learning_rate=5e-3) == [1e-3], "nothing is the value's alone"

    @pytest.mark.parametrize(("training_frames", "factor"), [(0, 1.0), (500, 0.55), (1000, 0.1), (9000, 0.1)])
    def test_or_they_fall_to_a_tenth(self, training_frames, factor):
        found = self.step_sizes(training_frames, value_learning_rate=5e-3, decay_over=1000)
        assert found == pytest.approx([factor * 1e-3, factor * 5e-3])

    def test_smaller_steps_change_the_policy_less(self):
        moved = []
        for training_frames in (0, 1000):
            policy = make_policy(self.OWN)
            learner = make_learner(policy, learning_rate=1e-3, decay_over=1000)
            before = weights(policy)
            learner.decay(training_frames)
            learner.update(experience())
            moved.append((weights(policy) - before).abs().sum().item())
        assert moved[1] == pytest.approx(0.1 * moved[0], rel=0.05)

    @pytest.mark.parametrize("name", ["learning_rate", "value_learning_rate", "decay_over"])
    def test_they_must_be_positive(self, name):
        with pytest.raises(ConfigError, match=name):
            PPOConfig(**{name: 0})
