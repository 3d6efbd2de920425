"""Network, PPO and self-imitation, against small sums by hand."""

import dataclasses

import numpy as np
import pytest
import torch

from goexplore.errors import ConfigError, TrainingError
from goexplore.random import SplitMix64
from goexplore.training import NetworkConfig, Policy, PPOConfig, RolloutConfig
from goexplore.training._random_streams import RandomStreams
from goexplore.training._sampler import DemonstrationBatch, DemonstrationSampler
from goexplore.training._ppo import Experience, Learner, estimate_advantages
from goexplore.training._group import ProcessGroup

from .mazes import ACTIONS, buffer

SHAPE = (1, 15, 20)
TINY = NetworkConfig(channels=(), hidden=16)
RECURRENT = NetworkConfig(kind="recurrent", channels=(), hidden=16)


def make_policy(config=TINY):
    torch.manual_seed(0)
    return Policy(config, shape=SHAPE, actions=5)


def make_learner(policy, **settings):
    return Learner(policy, PPOConfig(**{"minibatches": 1, "epochs": 1, **settings}), ProcessGroup(), RandomStreams(0, 0, 0))


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


def no_lesson():
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
        """Earlier code lost the lead-in silently."""
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
        learner.update(one, no_lesson)
        logits, _, _ = policy(torch.from_numpy(one.observations[0]), policy.empty_memory(4))
        assert (logits.argmax(-1) == 2).all()

    @pytest.mark.parametrize("config", [TINY, RECURRENT])
    def test_steps_that_do_not_count_change_nothing(self, config):
        """A lead-in fills the memory; its actions, rewards and estimates are nobody's business."""
        learnt = []
        for rubbish in (0.0, 50.0):
            policy = make_policy(config)
            one = experience(6, 2, hidden=policy.empty_memory(1).shape[1])
            one.mask[:3] = False
            one.over[2] = True  # so that nothing leaks through the estimates
            one.rewards[:3] += rubbish
            one.log_probabilities[:3] -= rubbish
            one.actions[:3] = int(rubbish) % 5
            make_learner(policy, imitation=0.0).update(one, no_lesson)
            learnt.append(weights(policy))
        torch.testing.assert_close(learnt[0], learnt[1], rtol=1e-4, atol=1e-6)

    def test_a_loss_that_is_not_a_number_stops_the_training(self):
        policy = make_policy()
        before = weights(policy)
        one = experience()
        one.rewards[0, 0] = np.nan
        with pytest.raises(TrainingError, match="learning-rate"):
            make_learner(policy, imitation=0.0).update(one, no_lesson)
        assert torch.equal(weights(policy), before), "a bad step is not taken"

    def test_the_paper_s_network_fits_its_screens(self):
        config = NetworkConfig(kind="recurrent", channels=(64, 128, 128), hidden=800, normalise=True)
        policy = Policy(config, shape=(12, 105, 80), actions=18)
        logits, values, memory = policy(
            torch.zeros(2, 12, 105, 80, dtype=torch.uint8), policy.empty_memory(2)
        )
        assert (logits.shape, values.shape, memory.shape) == ((2, 18), (2,), (2, 800))

    def test_screens_too_small_for_the_convolutions_are_refused(self):
        with pytest.raises(ConfigError, match="20 x 15 pixels"):
            Policy(NetworkConfig(), shape=SHAPE, actions=5)


class TestImitation:
    def demonstration_batch(self, action=3, returns=1.0):
        shape = (1, 8)
        return DemonstrationBatch(
            observations=np.random.default_rng(0).integers(0, 255, (*shape, *SHAPE), dtype=np.uint8),
            actions=np.full(shape, action),
            returns=np.full(shape, returns, np.float32),
            episode_start=np.zeros(shape, np.bool_),
            mask=np.ones(shape, np.bool_),
        )

    def likely(self, policy, demonstration_batch):
        logits, _, _ = policy(torch.from_numpy(demonstration_batch.observations[0]), policy.empty_memory(8))
        return logits.softmax(-1)[:, 3].mean().item()

    def test_a_demonstration_that_does_better_is_followed(self):
        policy, demonstration_batch = make_policy(), self.demonstration_batch()
        before = self.likely(policy, demonstration_batch)
        for _ in range(30):
            make_learner(policy, imitation=1.0, learning_rate=1e-2).update(experience(), lambda: demonstration_batch)
        assert self.likely(policy, demonstration_batch) > before + 0.2

    def test_one_that_does_worse_than_expected_is_not(self):
        policy = make_policy()
        learner = make_learner(policy)
        assert learner._imitation(self.demonstration_batch(returns=-10.0)).item() == 0.0

    def test_cloning_follows_it_whatever_it_won(self):
        policy, demonstration_batch = make_policy(), self.demonstration_batch(returns=-10.0)
        learner = make_learner(policy, learning_rate=1e-2)
        losses = [learner.clone(demonstration_batch) for _ in range(30)]
        assert losses[-1] < 0.2 * losses[0]


class TestLessons:
    def test_returns_are_discounted(self):
        lessons = DemonstrationSampler(buffer(), RolloutConfig(), discount=0.5)
        drawn = lessons.draw(SplitMix64(0), [60], count=50)
        points = {
            (int(action), round(float(worth), 4))
            for action, worth in zip(drawn.actions[0], drawn.returns[0], strict=True)
        }
        assert points == {(ACTIONS[60], 0.25), (ACTIONS[61], 0.5), (ACTIONS[62], 1.0)}

    def test_it_draws_from_the_earliest_point_on(self):
        lessons = DemonstrationSampler(buffer(), RolloutConfig(), discount=1.0)
        early = lessons.draw(SplitMix64(0), [0], count=200)
        late = lessons.draw(SplitMix64(0), [30], count=200)
        assert set(early.returns[0].tolist()) == {1.0, 2.0}
        assert set(late.returns[0].tolist()) == {1.0}

    def test_stretches_have_a_lead_in_that_does_not_count(self):
        books = buffer()
        drawn = DemonstrationSampler(books, RolloutConfig(), 0.9).draw(SplitMix64(0), [62], count=1, length=3, burn_in=4)
        assert drawn.mask[:, 0].tolist() == [False] * 4 + [True, False, False]
        np.testing.assert_array_equal(drawn.observations[0, 0], books.observation(0, 58))

    def test_stretches_that_reach_back_beyond_the_beginning_forget_there(self):
        drawn = DemonstrationSampler(buffer(), RolloutConfig(), 0.9).draw(
            SplitMix64(0), [0], count=300, length=2, burn_in=3
        )
        assert drawn.episode_start.any(0).sum() > 3
        assert drawn.mask[3].all()
