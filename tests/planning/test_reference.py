"""Where in demonstrations a game is: by place, by what was gained, by level; each by hand."""

import pytest

from goexplore.planning import Place, Reference, Tracker, Trajectory
from goexplore.planning._reference import AHEAD, BACK, KINDS, LEAP, LOST, NEAR_ENOUGH, PATIENCE, Kind


def won(*gains):
    """Return how many gains of each kind were won, the smallest kind first."""
    return bytes(gains).ljust(KINDS, b"\0")


STEP = 3
"""How far apart the places of `line` are."""


def line(length, *, key="room", level=0):
    """Return places in a row, each `STEP` from the next."""
    return [Place(key, (STEP * index,), level) for index in range(length)]


def trajectory(places, rewards=None, *, first_action=0):
    """Return a demonstration of these places whose actions are all different."""
    steps = len(places) - 1
    actions = bytes((first_action + step) % 256 for step in range(steps))
    gained = [0.0] * steps
    for step, reward in (rewards or {}).items():
        gained[step] = reward
    return Trajectory(actions, gained, places)


def reference(places, rewards=None, **settings):
    return Reference([trajectory(places, rewards)], **settings)


def here(position, key="room", level=0):
    return Place(key, (position,), level)


class TestPlaces:
    def test_a_demonstration_follows_itself(self):
        places = line(40)
        made = reference(places)
        tracker = made.begin()
        assert tracker == Tracker(0)
        for step, place in enumerate(places[1:], 1):
            assert made.action(tracker) == step - 1
            assert not made.is_at_the_end(tracker)
            tracker = made.follow(place, 0.0, tracker)
            assert (tracker, made.progress(tracker)) == (Tracker(step), step)
        assert made.is_at_the_end(tracker)

    def test_a_place_a_little_off_the_way_is_on_it(self):
        assert reference(line(40)).follow(here(STEP * 11 + 1), 0.0, Tracker(9)) == Tracker(11)

    def test_of_equally_near_rows_it_is_the_last(self):
        """Who waits where the demonstration waits goes on when it does."""
        places = [*line(5), *[here(STEP * 4)] * 3, *line(12)[5:]]
        assert reference(places).follow(here(STEP * 4), 0.0, Tracker(3)) == Tracker(7)

    def test_where_a_way_is_walked_twice_the_window_decides(self):
        there = line(41)
        made = reference([*there, *reversed(there[:-1])])
        assert made.follow(here(STEP * 12), 0.0, Tracker(10)).row == 12
        assert made.follow(here(STEP * 12), 0.0, Tracker(66)).row == 80 - 12

    def test_the_window_reaches_a_little_back_and_further_ahead(self):
        """At its ends it is preferred to a row elsewhere that is exactly there."""
        places = [*line(60), here(STEP * 20 + 9), here(STEP * 20 - 9)]
        made = reference(places)
        assert made.follow(here(STEP * 20 + 9), 0.0, Tracker(20 - AHEAD)).row == 20
        assert made.follow(here(STEP * 20 - 9), 0.0, Tracker(20 + BACK)).row == 20
        assert made.follow(here(STEP * 20 + 9), 0.0, Tracker(19 - AHEAD)).row == 60

    def test_what_is_not_near_is_looked_for_everywhere(self):
        made = reference(line(80))
        assert made.follow(here(STEP * 60), 0.0, Tracker(5)) == Tracker(60)
        assert made.follow(here(STEP * 5), 0.0, Tracker(60)) == Tracker(5)

    def test_what_is_nowhere_changes_nothing(self):
        made = reference(line(30))
        end = STEP * 30 - STEP
        assert made.follow(here(end + LOST), 0.0, Tracker(2)) == Tracker(29)
        assert made.follow(here(end + LOST + 1), 0.0, Tracker(2)) == Tracker(2, stall=1)
        assert made.follow(here(0, key="elsewhere"), 0.0, Tracker(2)) == Tracker(2, stall=1)

    def test_near_enough_is_taken_before_something_nearer_elsewhere(self):
        places = [*line(20), here(STEP * 19 + NEAR_ENOUGH), *[here(500)] * AHEAD, here(STEP * 19 + 10)]
        made = reference(places[:20] + places[21:])
        assert made.follow(here(STEP * 19 + NEAR_ENOUGH), 0.0, Tracker(18)).row == 19
        assert made.follow(here(STEP * 19 + NEAR_ENOUGH + 1), 0.0, Tracker(18)).row == len(made.rows) - 1

    def test_distances_are_summed_over_all_axes(self):
        places = [Place("room", (10 * index, 0, 0)) for index in range(3)]
        made = reference(places)
        assert made.follow(Place("room", (20, 5, 9)), 0.0, Tracker(0)) == Tracker(2)
        assert made.follow(Place("room", (20, 6, 9)), 0.0, Tracker(0)) == Tracker(0, stall=1)


class TestLoops:
    def walk(self, *turns, rewards=None):
        """Return a demonstration that walks from one turning point to the next, a step of 3 at a time."""
        positions = [turns[0]]
        for goal in turns[1:]:
            while positions[-1] != goal:
                positions.append(positions[-1] + (3 if goal > positions[-1] else -3))
        return trajectory([here(each) for each in positions], rewards)

    def positions(self, trajectory):
        return [place.position[0] for place in trajectory.places]

    def test_what_leads_back_to_where_it_began_is_cut_out(self):
        walked = self.walk(0, 60, 30, 90)
        cut = walked.without_loops()
        assert self.positions(cut) == list(range(0, 91, 3))
        after = [step for step, place in enumerate(walked.places) if place.position == (30,)][-1]
        assert cut.actions[10] == walked.actions[after], "at the crossing it goes on as it did in the end"

    def test_but_not_if_it_won_something(self):
        for reward in (100.0, -100.0):
            walked = self.walk(0, 60, 30, rewards={19: reward})
            assert walked.without_loops() == walked

    def test_who_moves_slowly_makes_no_loop(self):
        walked = trajectory([here(step // 4) for step in range(60)])
        assert walked.without_loops() == walked

    def test_who_waits_long_in_one_place_does(self):
        walked = trajectory([*line(5), *[here(STEP * 4)] * 20, *line(12)[5:]])
        assert self.positions(walked.without_loops()) == self.positions(trajectory(line(12)))

    def test_rooms_and_levels_are_different_places(self):
        for other in ({"key": "other"}, {"level": 1}):
            walked = trajectory([*line(12), *line(12, **other)])
            assert walked.without_loops() == walked

    def test_cells_have_no_loops(self):
        """Somebody who comes back to a cell may have been anywhere in it."""
        walked = trajectory([Place("a")] * 20 + [Place("b")])
        assert walked.without_loops() == walked


class TestRooms:
    """A room's number may change a frame earlier than the position, which is at the other end then."""

    WIDTH = STEP * 11

    def crossed(self):
        """Return a walk to the left through two rooms, with such a place between them."""
        first, second = ([self.there(STEP * step, room) for step in reversed(range(12))] for room in (2, 1))
        return trajectory([*first, self.there(0, 1), *second])

    def there(self, position, room):
        return Place(room, (position,), room=room)

    def test_the_first_place_in_a_room_is_where_the_second_is(self):
        settled = self.crossed().settled()
        assert settled.places[11:14] == [
            self.there(0, 2),
            self.there(self.WIDTH, 1),
            self.there(self.WIDTH, 1),
        ]

    def test_a_room_that_is_crossed_is_no_loop(self):
        settled = self.crossed().settled()
        assert settled.without_loops() == settled

    def test_a_room_that_is_left_at_once_was_never_entered(self):
        """Its position there would be that at the other end, as if the room had been crossed already."""
        walked = self.crossed()
        peeped = [*walked.places[:12], self.there(0, 1), *walked.places[11:]]
        settled = Trajectory(bytes(len(peeped) - 1), [0.0] * (len(peeped) - 1), peeped).settled()
        assert settled.places[11:14] == [self.there(0, 2)] * 3
        rooms = [place.room for place in settled.without_loops().places]
        assert rooms.count(1) == [place.room for place in walked.settled().places].count(1)

    def test_but_not_if_it_won_something_there(self):
        walked = self.crossed()
        peeped = [*walked.places[:12], self.there(0, 1), *reversed(walked.places[:12])]
        rewards = [0.0] * 24
        rewards[11] = 50.0
        settled = Trajectory(bytes(24), rewards, peeped).settled()
        assert settled.places[12] == self.there(0, 1)
        made, score = Reference([settled]), 0.0
        tracker = made.begin()._replace(room=2, column=0)
        for place, reward in zip(peeped[1:], rewards, strict=True):
            score += reward
            tracker = made.follow(place, score, tracker)
        assert made.is_at_the_end(tracker)

    def test_who_enters_a_room_is_not_at_its_other_end(self):
        made = Reference([self.crossed().settled()])
        at_the_door = Tracker(11, room=2)
        entered = made.follow(self.there(0, 1), 0.0, at_the_door)
        assert entered == Tracker(11, room=1)
        assert made.follow(self.there(self.WIDTH - STEP, 1), 0.0, entered) == Tracker(14, room=1)

    def test_who_leaves_a_room_is_not_at_its_other_end(self):
        """The position may change a frame before the room's number does, and change back."""
        way = [self.at(STEP * step) for step in range(21)]
        made, far = Reference([Trajectory(bytes(20), [0.0] * 20, way)]), STEP * 20
        at_the_left = made.follow(self.at(STEP), 0.0, Tracker(0, room=1, column=0))
        assert at_the_left == Tracker(1, room=1, column=STEP)
        leapt = made.follow(self.at(far), 0.0, at_the_left)
        assert leapt == Tracker(1, room=1, column=far)
        assert made.follow(self.at(STEP), 0.0, leapt) == Tracker(1, room=1, column=STEP)

    def test_a_leap_within_a_room_is_not_part_of_the_way(self):
        leaping = Trajectory(bytes(2), [0.0] * 2, [self.at(0), self.at(LEAP + 1), self.at(STEP)])
        assert leaping.settled().places == [self.at(0), self.at(0), self.at(STEP)]

    @classmethod
    def at(cls, column):
        """Return a place in the room on the right."""
        return Place(1, (column,), room=1, column=column)

    def test_what_is_won_on_entering_counts(self):
        rewards = [0.0] * 24
        rewards[12] = 100.0
        walked = self.crossed()
        made = Reference([Trajectory(walked.actions, rewards, walked.places).settled()])
        assert made.follow(self.there(0, 1), 100.0, Tracker(12, room=2)).won == won(1)


class TestGains:
    """There with nothing, back with 100 points."""

    PLACES = (*line(21), *reversed(line(20)))

    def made(self, **settings):
        return reference(self.PLACES, {19: 100.0}, **settings)

    def test_the_way_there_is_before_the_gain_and_the_way_back_after_it(self):
        made = self.made()
        assert made.follow(here(STEP * 15), 0.0, Tracker(16)).row == 15
        assert made.follow(here(STEP * 15), 100.0, Tracker(16)).row == 25
        assert made.follow(here(STEP * 15), 0.0, Tracker(24)).row == 15, "not back without the gain"

    def test_far_away_it_is_the_same(self):
        made = self.made()
        assert made.follow(here(STEP * 1), 100.0, Tracker(19)).row == 39
        assert made.follow(here(STEP * 1), 0.0, Tracker(39)).row == 1

    def test_other_points_count_for_as_many_gains_as_they_are_worth(self):
        made = self.made()
        assert made.follow(here(STEP * 15), 99.0, Tracker(24)).row == 15
        assert made.follow(here(STEP * 15), 5000.0, Tracker(16)).row == 25

    def test_an_allowed_deficit_counts_as_won(self):
        made = self.made(deficit=10.0)
        assert made.follow(here(STEP * 15), 90.0, Tracker(16)).row == 25
        assert made.follow(here(STEP * 15), 89.0, Tracker(16)).row == 15

    @pytest.mark.parametrize(("length", "every"), [(100, 1), (100, 5), (400, 1)])
    def test_what_is_won_all_the_time_is_no_gain(self, length, every):
        """Such as a point for every step: nobody who lost a step could ever go on."""
        rewards = [float(step % every == 0) for step in range(length)]
        made = Reference([Trajectory(bytes(length), rewards, line(length + 1))])
        assert made.kinds == {0: []}
        tracker = made.begin()
        for step in range(1, length + 1):  # a point is left out
            tracker = made.follow(here(STEP * step), sum(rewards[1:step]), tracker)
        assert made.is_at_the_end(tracker)

    def test_rewards_of_different_sizes_all_the_time_are_no_gains(self):
        rewards = [1.0 + step % 7 + step / 1000 for step in range(100)]
        made = Reference([Trajectory(bytes(100), rewards, line(101))])
        assert made.kinds == {0: []}

    def test_nor_is_what_is_smaller(self):
        """Else what is won all the time would count as that."""
        made = reference(line(101), {**dict.fromkeys(range(50, 100), 5.0), 2: 1.0})
        assert made.kinds == {0: []}

    def test_but_much_more_is_a_gain_even_there(self):
        made = reference(line(101), {**dict.fromkeys(range(100), 5.0), 50: 100.0})
        assert made.kinds == {0: [Kind(100.0, "room")]}

    def test_what_is_won_all_the_time_in_one_part_of_a_long_way_is_no_gain(self):
        rewards = {**dict.fromkeys(range(200, 290), 5.0), 100: 50.0, 500: 50.0}
        made = reference(line(1001), rewards)
        assert made.kinds == {0: [Kind(50.0, "room")]}
        assert made.stretches[0].gains == [0, 0]

    @pytest.mark.parametrize(("treasure", "kinds"), [(10.5, []), (25.0, [Kind(25.0, "room")])])
    def test_nor_is_what_an_allowed_deficit_makes_as_small(self, treasure, kinds):
        rewards = [1.0] * 100
        rewards[50] = treasure
        made = Reference([Trajectory(bytes(100), rewards, line(101))], deficit=10.0)
        assert made.kinds == {0: kinds}

    def test_with_too_many_kinds_to_tell_rooms_apart_none_is_as_small_as_what_is_usual_anywhere(self):
        places = [*line(100), *(place for room in range(40) for place in line(20, key=f"vault {room}"))]
        rewards = dict.fromkeys(range(100), 5.0)
        rewards |= {110 + 20 * room: 4.0 + room for room in range(40)}
        (kinds,) = reference(places, rewards).kinds.values()
        assert {kind.key for kind in kinds} == {None}
        assert min(kind.least for kind in kinds) == 6.0

    def test_in_another_room_as_much_is_a_gain(self):
        places = [*line(200), *line(101, key="vault")]
        made = reference(places, {**dict.fromkeys(range(50), 5.0), 250: 5.0})
        assert made.kinds == {0: [Kind(5.0, "vault")]}

    def test_what_is_won_now_and_then_is(self):
        rewards = dict.fromkeys(range(0, 100, 10), 10.0)
        made = reference(line(101), rewards)
        assert [len(kinds) for kinds in made.kinds.values()] == [1]
        assert made.follow(here(STEP * 12), 10.0, Tracker(9)).row == 10, "the second is missing"

    @pytest.mark.parametrize("cost", [0.0, -1.0, -3.0])
    @pytest.mark.parametrize("deficit", [0.0, 10.0])
    def test_a_demonstration_whose_steps_cost_points_follows_itself(self, cost, deficit):
        """What it has lost since a gain, a game may have lost as well."""
        rewards = [cost] * 40
        rewards[19] += 100.0
        made = Reference([Trajectory(bytes(40), rewards, self.PLACES)], deficit=deficit)
        tracker, score = made.begin(), 0.0
        for step, place in enumerate(self.PLACES[1:]):
            score += rewards[step]
            tracker = made.follow(place, score, tracker)
            assert made.progress(tracker) >= step + 1
        assert made.is_at_the_end(tracker)

    def test_points_that_are_lost_again_do_not_undo_a_gain(self):
        """Gold, a thief, and gold again: what was won was won, for the demonstration and for a game."""
        made = reference(line(31), {9: 100.0, 19: -100.0, 25: 100.0})
        assert [row.stage for row in made.rows] == [0] * 10 + [1] * 16 + [2] * 5
        robbed = made.follow(here(STEP * 22), 0.0, Tracker(21, score=100.0, won=won(1)))
        assert robbed == Tracker(22, score=0.0, won=won(1))
        assert made.follow(here(STEP * 28), 100.0, robbed).row == 28


class TestWhichGains:
    """A key of 100 points, a sword of 3,000, and another key."""

    KEY, SWORD, LAST = 10, 20, 30

    def made(self, **settings):
        return reference(line(41), {9: 100.0, 19: 3000.0, 29: 100.0}, **settings)

    def test_each_is_of_the_kind_of_its_points(self):
        made = self.made()
        assert made.kinds == {0: [Kind(100.0, "room"), Kind(3000.0, "room")]}
        assert made.stretches[0].gains == [0, 1, 0]

    def test_and_of_the_room_where_it_is_won(self):
        places = [*line(10), *line(20, key="vault")]
        made = reference(places, {5: 100.0, 15: 100.0})
        assert made.stretches[0].gains == [0, 1]
        tracker = made.follow(here(STEP * 8, "vault"), 100.0, Tracker(5))
        assert tracker == Tracker(5, stall=1, score=100.0, won=won(0, 1)), "the first is still missing"
        assert made.follow(here(STEP * 6), 200.0, tracker).won == won(1, 1)

    def test_but_not_of_the_cell(self):
        """A reward may be won from the cell beside the demonstration's."""
        made = reference([Place(cell) for cell in "abcde"], {2: 1.0})
        assert made.follow(Place("c"), 1.0, Tracker(1)).won == won(1)

    def test_a_key_that_is_left_out_is_missing_however_much_is_won_later(self):
        made, tracker = self.made(), Tracker(self.KEY - 1)
        tracker = made.follow(here(STEP * self.SWORD), 3000.0, tracker)
        assert tracker == Tracker(self.KEY - 1, stall=1, score=3000.0, won=won(0, 1))
        tracker = made.follow(here(STEP * self.LAST), 9000.0, tracker)
        assert tracker.row == self.KEY - 1

    def test_what_was_won_in_another_order_counts_once_all_before_it_is_there(self):
        made = self.made()
        tracker = made.follow(here(STEP * self.SWORD), 3000.0, Tracker(self.KEY - 1))
        tracker = made.follow(here(STEP * self.KEY), 3100.0, tracker)
        assert tracker == Tracker(self.KEY - 1, stall=2, score=3100.0, won=won(1, 1)), "it is ahead of there"
        assert made.follow(here(STEP * self.SWORD), 3100.0, tracker).row == self.SWORD

    def test_one_reward_is_one_gain(self):
        made = self.made()
        tracker = made.follow(here(STEP * self.KEY), 200.0, Tracker(self.KEY - 1))
        assert tracker == Tracker(self.KEY, score=200.0, won=won(1))

    def test_what_is_won_often_stops_counting_at_255(self):
        made, tracker = self.made(), Tracker(self.KEY, won=won(254))
        for score in (100.0, 200.0, 300.0):
            tracker = made.follow(here(STEP * self.KEY), score, tracker)
            assert tracker.won == won(255)

    def test_of_many_different_gains_neighbours_are_one_kind(self):
        rewards = {12 * step: 1.0 + step for step in range(40)}
        made = reference(line(481), rewards)
        assert len(made.kinds[0]) == KINDS
        assert set(made.stretches[0].gains) == set(range(KINDS))
        tracker, score = made.begin(), 0.0
        for step, place in enumerate(line(481)[1:]):
            score += rewards.get(step, 0.0)
            tracker = made.follow(place, score, tracker)
        assert made.is_at_the_end(tracker)


class TestLevels:
    """A treasure of 100 points in the first level, one of 50 in the second."""

    FIRST, SECOND = line(12), line(20, key="room of level 1", level=1)

    def made(self):
        return reference([*self.FIRST, *self.SECOND], {5: 100.0, 12 + 9: 50.0})

    def test_each_level_is_a_stretch_with_gains_of_its_own(self):
        first, second = self.made().stretches
        assert (first.rows, first.gains) == (range(12), [0])
        assert (second.rows, second.gains) == (range(12, 32), [0])
        assert first.end == second.end == 31

    @pytest.mark.parametrize("score", [0.0, 100.0, 300.0])
    def test_gains_count_from_its_beginning(self, score):
        """Who is a treasure short can still solve the second level."""
        made = self.made()
        before = Tracker(5 if score < 100 else 11, score=score, won=won(int(score) // 100))
        tracker = made.follow(self.SECOND[0], score, before)
        assert tracker == Tracker(12, score=score)
        for row, place in enumerate(self.SECOND[1:10], 13):
            tracker = made.follow(place, score, tracker)
            assert tracker == Tracker(row, score=score)
        for row, place in enumerate(self.SECOND[10:], 22):
            lacking = made.follow(place, score, tracker._replace(score=score, won=won()))
            assert lacking.row != row, "the second treasure has to be won"
            tracker = made.follow(place, score + 50, tracker)
            assert tracker == Tracker(row, score=score + 50, won=won(1))
        assert made.is_at_the_end(tracker)

    def test_a_treasure_counts_that_is_won_far_from_the_demonstrations_way(self):
        made = self.made()
        far = here(STEP * 19 + LOST + 1, "room of level 1", level=1)
        tracker = made.follow(far, 100.0, Tracker(11, score=100.0, won=won(1)))
        assert tracker == Tracker(12, stall=1, score=100.0), "the level is reached, wherever in it"
        tracker = made.follow(far, 150.0, tracker)
        assert made.follow(self.SECOND[12], 150.0, tracker).row == 12 + 12

    def test_the_window_ends_with_the_level(self):
        made = self.made()
        tracker = made.follow(self.FIRST[11], 100.0, Tracker(10))
        assert tracker.row == 11
        off = made.follow(here(STEP * 11 + NEAR_ENOUGH), 100.0, tracker)
        assert off == tracker._replace(stall=1)


class TestStalling:
    def test_it_is_counted_and_begins_again(self):
        made = reference(line(40))
        tracker, stalls = Tracker(7), []
        for _ in range(PATIENCE + 3):
            tracker = made.follow(here(STEP * 7), 0.0, tracker)
            assert tracker.row == 7
            stalls.append(tracker.stall)
        assert stalls == [*range(1, PATIENCE + 1), 0, 1, 2]

    def test_meanwhile_the_next_actions_are_done(self):
        """Where the first action alone leads nowhere, such as a jump that takes several."""
        made = reference(line(40))
        assert [made.action(Tracker(7, stall)) for stall in range(4)] == [7, 8, 9, 10]

    def test_but_none_beyond_the_last(self):
        made = reference(line(11))
        assert [made.action(Tracker(8, stall)) for stall in range(4)] == [8, 9, 9, 9]
        assert made.action(Tracker(10)) == 9

    def test_a_new_place_ends_it(self):
        assert reference(line(40)).follow(here(STEP * 8), 0.0, Tracker(7, 5)) == Tracker(8)


class TestSeveralDemonstrations:
    def made(self):
        long = trajectory(line(31, key="long way"))
        return Reference([long, trajectory(line(21, key="short way"), first_action=100)])

    def test_games_begin_with_the_shortest(self):
        made = self.made()
        assert made.begin() == Tracker(31)
        assert made.action(made.begin()) == 100

    def test_all_end_with_the_same_progress(self):
        made = self.made()
        assert made.goal == 30
        assert (made.progress(Tracker(0)), made.progress(Tracker(31))) == (0, 10)
        assert made.is_at_the_end(Tracker(30))
        assert made.is_at_the_end(Tracker(51))
        assert not made.is_at_the_end(Tracker(50))

    def test_a_game_may_change_over(self):
        made = self.made()
        there = made.follow(here(STEP * 12, "long way"), 0.0, made.begin())
        assert there == Tracker(12)
        assert made.follow(here(STEP * 12, "short way"), 0.0, there) == Tracker(31 + 12)

    def test_the_window_ends_with_the_demonstration(self):
        both = Reference([trajectory(line(31)), trajectory([here(STEP * 31 + index) for index in range(21)])])
        assert both.follow(here(STEP * 31 - 1), 0.0, Tracker(28)).row == 30

    def test_each_has_gains_of_its_own(self):
        both = Reference(
            [trajectory(line(21, key="a") + line(9), {5: 10.0}), trajectory(line(21, key="b") + line(9))]
        )
        assert both.follow(here(0), 0.0, Tracker(20)).row == 30 + 21
        assert both.follow(here(0), 10.0, Tracker(20, score=10.0, won=won(1))).row == 21


class TestCells:
    """Places without positions: all rows of a cell are equally near."""

    def rows(self, reference, cells, tracker):
        found = []
        for cell in cells:
            tracker = reference.follow(Place(cell), 0.0, tracker)
            found.append(tracker.row)
        return found

    def test_it_is_the_row_that_comes_next(self):
        made = reference([Place(cell) for cell in "abacabad"])
        assert self.rows(made, "bacabad", made.begin()) == [1, 2, 3, 4, 5, 6, 7]

    def test_or_the_nearest_to_that(self):
        made = reference([Place(cell) for cell in "abbbbacccca"])
        assert self.rows(made, "a", Tracker(2)) == [5]
        assert self.rows(made, "a", Tracker(9)) == [10]
        assert self.rows(made, "c", Tracker(2)) == [6]

    def test_who_stays_in_a_cell_goes_through_its_rows_and_stalls_at_the_last(self):
        made = reference([Place(cell) for cell in "aaaab"])
        assert self.rows(made, "aaaaaa", made.begin()) == [1, 2, 3, 3, 3, 3]
        assert made.follow(Place("a"), 0.0, Tracker(3)) == Tracker(3, stall=1)

    def test_an_unknown_cell_changes_nothing(self):
        assert reference([Place(cell) for cell in "abc"]).follow(Place("z"), 0.0, Tracker(1)) == Tracker(1, 1)


def test_a_stretch_of_actions_begins_before_or_after_a_place():
    made = reference(line(30))
    assert made.stretch_of_actions(Tracker(10), 0, 4) == [10, 11, 12, 13]
    assert made.stretch_of_actions(Tracker(10), 4, 2) == [14, 15]
    assert made.stretch_of_actions(Tracker(2), -4, 3) == [0, 1, 2], "not before the beginning"
    assert made.stretch_of_actions(Tracker(27), 0, 10) == [27, 28], "the last row has no action"
    assert made.stretch_of_actions(Tracker(29), 1, 10) == []
