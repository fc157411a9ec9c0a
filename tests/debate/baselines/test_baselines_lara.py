"""LARA: the worked example of docs/protocol.md 2.9, options, sources of probabilities."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from debate.baselines.calibrations import LogisticModel, OnlineModel
from debate.baselines.lara import (
    balanced_groups,
    budget_for,
    label_batch,
    probabilities,
    simulate,
    smooth_normalize,
    split_budget,
)
from debate.baselines.relevance import measure, probability_of_yes
from llm.errors import Permanent
from llm.requests import Reply
from tests.debate.judging import judges, play

NAMES = "abcdefgh"
PI = np.array([0.95, 0.80, 0.56, 0.10, 0.62, 0.47, 0.30, 0.05])
TRUTH = [1, 1, 0, 0, 1, 0, 0, 0]


def s(z: float) -> float:
    return 1 / (1 + math.exp(-z))


def test_worked_example_before_any_label() -> None:
    # Beta(1, 1) has variance 1/12; w = (1.2 - 1/12)(1 - e^-0.2); p = (1 - w) pi + w / 2
    w = (1.2 - 1 / 12) * (1 - math.exp(-0.2))
    p = probabilities(OnlineModel(PI))
    assert p == pytest.approx([(1 - w) * x + w * 0.5 for x in PI], abs=1e-12)
    assert p.round(4).tolist() == [0.8589, 0.7393, 0.5479, 0.1810, 0.5957, 0.4761, 0.3405, 0.1411]


def test_worked_example_with_a_budget_of_three() -> None:
    model = OnlineModel(PI)
    course = simulate(label_batch(model, 3), TRUTH)
    assert [NAMES[pick] for pick in course.picks] == ["f", "c", "e"]
    # b -= 0.01 (sigmoid(b0 + b1 x) - y) (1, x) for (x, y) = (.47, 0), (.56, 0), (.62, 1)
    b0 = b1 = 0.0
    for x, y in ((0.47, 0), (0.56, 0), (0.62, 1)):
        error = s(b0 + b1 * x) - y
        b0, b1 = b0 - 0.01 * error, b1 - 0.01 * error * x
    assert (model.b0, model.b1) == pytest.approx((b0, b1), abs=1e-12)
    assert (model.b0, model.b1) == pytest.approx((-0.004951, -0.002021), abs=1e-6)
    # a = 1 + 1, b = 1 + 2; Var = 6 / (25 * 6) = .04; w = 1.16 (1 - e^-0.2)
    assert (model.a, model.b) == (2, 3)
    assert model.weight == pytest.approx(1.16 * (1 - math.exp(-0.2)), abs=1e-12)
    assert model.weight == pytest.approx(0.21027, abs=5e-6)
    assert course.probabilities.round(4).tolist() == [
        0.8550, 0.7366, 0.5471, 0.1838, 0.5944, 0.4760, 0.3418, 0.1444,
    ]  # fmt: skip
    assert course.labels.tolist() == TRUTH


def test_peoples_labels_stand_whatever_the_model_thinks() -> None:
    flipped = [1 - label for label in TRUTH]
    course = simulate(label_batch(OnlineModel(PI), 3), flipped)
    assert [course.labels[pick] for pick in course.picks] == [flipped[p] for p in course.picks]


@pytest.mark.parametrize("budget", [7, 8, 100])
def test_budget_of_all_but_one_asks_for_all(budget: int) -> None:
    course = simulate(label_batch(OnlineModel(PI), budget), TRUTH)
    assert (course.picks, course.labels.tolist()) == (tuple(range(8)), TRUTH)


def test_no_budget_is_the_calibrated_threshold() -> None:
    course = simulate(label_batch(OnlineModel(PI), 0), TRUTH)
    assert course.picks == ()
    assert course.labels.tolist() == [1, 1, 1, 0, 1, 0, 0, 0]


def test_ties_go_to_the_first() -> None:
    course = simulate(label_batch(OnlineModel(np.full(6, 0.5)), 2), [1] * 6)
    assert course.picks[0] == 0


@pytest.mark.parametrize(
    ("ratio", "budget"),
    # of 700: 24.5 (a little above, in floats), 87.5, 175, 350
    [(0.035, 25), (0.125, 88), (0.25, 175), (0.5, 350)],
)
def test_budget_is_the_rounded_share(ratio: float, budget: int) -> None:
    assert budget_for(ratio, 700) == budget


@pytest.mark.slow
@given(st.lists(st.floats(0, 1), min_size=3, max_size=30), st.integers(0, 28), st.booleans())
def test_any_batch_spends_its_budget_on_different_pairs(
    pi: list[float], budget: int, refits: bool
) -> None:
    model = (LogisticModel if refits else OnlineModel)(np.array(pi))
    course = simulate(label_batch(model, budget), [round(x) for x in pi])
    expected = len(pi) if budget >= len(pi) - 1 else budget
    assert len(course.picks) == len(set(course.picks)) == expected
    assert set(course.labels.tolist()) <= {0, 1}


def test_weight_of_the_reference_never_leaves_its_narrow_band() -> None:
    model = OnlineModel(PI)
    for label in [1, 0] * 500:
        assert 0.2024 <= round(model.weight, 4) <= 0.2175
        model.learn(0, label)


@pytest.mark.slow
def test_refit_follows_labels_that_contradict_the_threshold() -> None:
    # Everything below .8 is irrelevant. The reference asks around .5 and stays wrong above.
    pi = np.linspace(0, 1, 300)
    truth = (pi >= 0.8).astype(int).tolist()
    reference = simulate(label_batch(OnlineModel(pi), 75), truth)
    refit = simulate(label_batch(LogisticModel(pi), 75), truth)
    wrong = [int((course.labels != truth).sum()) for course in (reference, refit)]
    assert wrong[0] > 40
    assert wrong[1] == 0


@pytest.mark.slow
def test_refit_is_sklearns_own_on_all_labels_and_the_two_anchors() -> None:
    from sklearn.linear_model import LogisticRegression

    model = LogisticModel(PI)
    for index in (0, 3, 5):
        model.learn(index, TRUTH[index])
    logits = [math.log(x / (1 - x)) for x in (0.95, 0.10, 0.47, 0.01, 0.99)]
    fitted = LogisticRegression().fit(np.reshape(logits, (-1, 1)), [1, 0, 0, 0, 1])
    everything = np.log(PI / (1 - PI)).reshape(-1, 1)
    assert probabilities(model) == pytest.approx(fitted.predict_proba(everything)[:, 1])


def test_refit_knows_pi_alone_before_the_first_label() -> None:
    assert probabilities(LogisticModel(PI)) == pytest.approx(PI)


# Normalising, groups.


def test_smoothing_is_a_sigmoid_around_the_mean_stretched_to_the_whole_range() -> None:
    # mean .4: sigmoid(5 * (-.3, -.1, .4)) = .182426, .377541, .880797; then (x - min) / range
    low, mid, high = s(-1.5), s(-0.5), s(2.0)
    smooth = smooth_normalize(np.array([0.1, 0.3, 0.8]))
    assert smooth == pytest.approx([0, (mid - low) / (high - low), 1], abs=1e-12)


def test_smoothing_of_equal_values_is_a_half() -> None:
    assert smooth_normalize(np.array([0.3, 0.3])).tolist() == [0.5, 0.5]
    assert smooth_normalize(np.array([])).tolist() == []


def test_groups_are_whole_topics_balanced_in_pairs() -> None:
    topics = ["t1"] * 6 + ["t2"] * 3 + ["t3"] * 3
    groups = balanced_groups(topics, 2, seed=3)
    assert sorted(index for group in groups for index in group) == list(range(12))
    for topic in set(topics):
        assert sum(any(topics[i] == topic for i in group) for group in groups) == 1
    assert len(balanced_groups(topics, 9)) == 3
    assert balanced_groups(topics, 2, seed=3) == groups


@pytest.mark.parametrize(
    ("budget", "sizes", "shares"),
    # 10 over three is 3 each and 1 over; the small group's rest goes to the others, one by one
    [(10, [20, 20, 20], [4, 3, 3]), (10, [2, 20, 20], [2, 4, 4]), (9, [2, 3], [2, 3])],
)
def test_budget_is_shared_evenly_and_rests_handed_on(budget, sizes, shares) -> None:
    assert split_budget(budget, sizes) == shares


def test_every_group_gets_its_share_of_picks() -> None:
    # All the uncertain pairs are of the first topic; plain LARA would pick only there.
    pi = np.array([0.5] * 10 + [0.95] * 10)
    groups = [list(range(10)), list(range(10, 20))]
    course = simulate(label_batch(OnlineModel(pi), 6, groups=groups), [1] * 20)
    assert sum(pick < 10 for pick in course.picks) == 3
    plain = simulate(label_batch(OnlineModel(pi), 6), [1] * 20)
    assert all(pick < 10 for pick in plain.picks)


# Where the probability comes from.


def token(text: str, probability: float, *others: tuple[str, float]) -> dict:
    top = [{"token": t, "logprob": math.log(p)} for t, p in ((text, probability), *others)]
    return {"token": text, "logprob": math.log(probability), "top_logprobs": top}


def test_most_probable_spelling_counts_and_spellings_are_not_added() -> None:
    # yes: max(.4, .2) = .4; no: max(.1, .3) = .3; .4 / .7
    first = token("Yes", 0.4, (" yes", 0.2), ("no", 0.1), (" NO", 0.3))
    assert probability_of_yes([first]) == pytest.approx(0.4 / 0.7)


def test_first_token_that_says_either_is_read_also_inside_json() -> None:
    tokens = [token('{"', 1.0), token("answer", 1.0), token('":"', 1.0)]
    tokens += [token("no", 0.9, ("yes", 0.1)), token('"}', 1.0, ("yes", 1.0))]
    assert probability_of_yes(tokens) == pytest.approx(0.1)


@pytest.mark.parametrize("tokens", [None, [], [token("maybe", 1.0)], [token("yEs", 1.0)]])
def test_no_probability_where_nothing_says_either(tokens) -> None:
    assert probability_of_yes(tokens) is None


def test_only_the_other_word_is_certainty_against_it() -> None:
    assert probability_of_yes([token("no", 1.0)]) == 0.0


@pytest.mark.parametrize("logprob", [float("nan"), None, "x", float("-inf")])
def test_strange_numbers_are_no_probability(logprob) -> None:
    first = {"token": "yes", "logprob": logprob, "top_logprobs": None}
    assert probability_of_yes([first]) == 0.0


def test_pair_is_measured_by_logprobs() -> None:
    reply = Reply('{"answer": "yes"}', None, 0.0, logprobs=[token("yes", 0.75, ("no", 0.25))])
    verdict, asked = play(measure, judges(), [reply])
    assert (verdict.status, verdict.label, verdict.turns[0].score) == ("measured", None, 0.75)
    assert asked[0][0].as_llm_request().logprobs is True


@pytest.mark.parametrize(
    ("answer", "confidence", "probability"),
    [("yes", 80, 0.8), ("no", 80, 0.2), ("No.", 100, 0.0)],
)
def test_without_logprobs_the_model_is_asked_for_its_confidence(
    answer: str, confidence: int, probability: float
) -> None:
    said = json.dumps({"answer": answer, "confidence": confidence})
    verdict, asked = play(measure, judges(), [Reply('{"answer": "yes"}', None, 0.0)], [said])
    assert verdict.turns[0].score == pytest.approx(probability)
    assert verdict.turns[0].flags == ("verbalised",)
    assert [step[0].role for step in asked] == ["relevance", "relevance_confidence"]


@pytest.mark.parametrize("confidence", [101, -1, True, None, "80"])
def test_confidence_out_of_bounds_is_unreadable(confidence: object) -> None:
    said = json.dumps({"answer": "yes", "confidence": confidence})
    verdict, _ = play(measure, judges(), [Reply("x", None, 0.0)], [said], [said])
    assert (verdict.status, verdict.label) == ("unreadable", None)


def test_without_logprobs_and_without_the_fallback_the_pair_is_unreadable() -> None:
    verdict, asked = play(measure, judges(verbalised=False), [Reply("yes", None, 0.0)])
    assert (verdict.status, len(asked)) == ("unreadable", 1)


def test_failed_call_is_failed() -> None:
    assert play(measure, judges(), [Permanent("no credit")])[0].status == "failed"


# Picking quickly is picking the same.


class Bent:
    """A calibration of the kind a test wants: rising, falling or neither."""

    def __init__(self, x: np.ndarray, direction: int) -> None:
        self.x, self.direction = x, direction

    def at(self, x: float) -> float:
        return {1: x, -1: 1 - x, 0: abs(x - 0.3)}[self.direction]

    def learn(self, index: int, label: int) -> None:
        pass


values = st.one_of(st.floats(0, 1), st.sampled_from([0.2, 0.4, 0.5, 0.6, 0.8]))


@given(st.lists(values, min_size=3, max_size=25), st.sampled_from([1, -1, 0]))
def test_every_pick_is_the_first_of_the_least_certain(xs: list[float], direction: int) -> None:
    model = Bent(np.array(xs), direction)
    course = simulate(label_batch(model, len(xs) - 2), [0] * len(xs))
    left = list(range(len(xs)))
    for pick in course.picks:
        distances = [abs(model.at(xs[index]) - 0.5) for index in left]
        assert pick == left[distances.index(min(distances))]
        left.remove(pick)


@given(st.lists(values, min_size=4, max_size=40), st.integers(0, 2**31))
def test_reference_course_is_that_of_the_plain_loop(pi: list[float], seed: int) -> None:
    truth = np.random.default_rng(seed).integers(0, 2, len(pi)).tolist()
    model = OnlineModel(np.array(pi))
    course = simulate(label_batch(model, len(pi) // 2), truth)
    plain, left = OnlineModel(np.array(pi)), list(range(len(pi)))
    for pick in course.picks:
        distances = [abs(plain.at(pi[index]) - 0.5) for index in left]
        assert pick == left[distances.index(min(distances))]
        plain.learn(pick, truth[pick])
        left.remove(pick)


@pytest.mark.slow
def test_labels_against_the_model_turn_the_fitted_line_round() -> None:
    # The model is wrong about everything.
    pi = np.linspace(0.02, 0.98, 60)
    model = LogisticModel(pi)
    truth = (pi < 0.5).astype(int).tolist()
    course = simulate(label_batch(model, 40), truth)
    assert model.direction == -1
    assert int((course.labels != truth).sum()) < 60 - 40  # thresholding pi misses them all
