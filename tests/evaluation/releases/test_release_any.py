"""Whatever people and agents did to a benchmark: what is built of it verifies, or says why not."""

import contextlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from annotate.adjudication.services import settle_case
from annotate.models import CaseStatus, EscalationCase, Vote
from annotate.voting.cases import open_case
from annotate.voting.services import cast_vote, withdraw_vote
from annotate.workspace.gold import assign_passage, discard_passage, undo_verdict
from corpus.access import enter
from corpus.models import Passage, Query
from evaluation.exporters.faults import BLOCKING
from evaluation.releases.building import carry_out
from evaluation.releases.services import start_here
from evaluation.verification.copies import WITHOUT_TEXT
from evaluation.verification.folder import verify
from kit.errors import Refused
from tests.corpus.cleaning.rooms import clean
from tests.evaluation.conftest import Garden, make_aspect
from tests.evaluation.releases.test_release_final import debated
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query
from tests.worlds import in_a_world

QIDS = ("7", "q-8", "é/9")
PIDS = ("b-10", "B2", "b_1.txt", "ü4", "5")
TEXT = "Moths fly at night. They roll their backs to the light.\n\nMain page\nFerns have no seeds."

pairs = st.tuples(st.sampled_from(range(3)), st.sampled_from(range(5)))
labels = st.sampled_from([1, 0, None])
acts = st.one_of(
    st.tuples(st.just("gold"), pairs, st.integers(0, 3)),
    st.tuples(st.just("debate"), pairs, st.booleans()),
    st.tuples(st.just("votes"), pairs, st.lists(labels, min_size=1, max_size=6)),
    st.tuples(st.just("votes"), pairs, st.lists(labels, min_size=3, max_size=3)),
    st.tuples(st.just("settle"), pairs, st.integers(0, 1)),
    st.tuples(st.just("assign"), pairs, st.integers(1, 2)),
    st.tuples(st.just("discard"), pairs, st.none()),
    st.tuples(st.just("undo"), pairs, st.none()),
    st.tuples(st.just("lose text"), pairs, st.none()),
)


class Made:
    """A small benchmark, and the verbs by which labels come into it; what is refused is left."""

    def __init__(self) -> None:
        self.benchmark = make_benchmark("any", domains=("biology",))
        self.queries = [make_query(self.benchmark, qid, answers=["a"]) for qid in QIDS]
        self.passages = [make_passage(self.benchmark, pid, text=f"{pid}. {TEXT}") for pid in PIDS]
        self.aspects = [[make_aspect(query, k) for k in (1, 2)] for query in self.queries[:2]]
        self.voters = [make_member(self.benchmark, f"v{n}", "annotator") for n in range(6)]
        self.expert = make_member(self.benchmark, "expert", "annotator")
        self.admin = make_member(self.benchmark, "admin", "admin")

    def do(self, act: str, pair: tuple[int, int], value: Any) -> None:
        query, passage = self.queries[pair[0]], self.passages[pair[1]]
        verbs: dict[str, Callable[[], Any]] = {
            "gold": lambda: self._gold(query, passage, value),
            "debate": lambda: self._debate(query, passage, int(value)),
            "votes": lambda: self._votes(query, passage, value),
            "settle": lambda: self._settle(query, passage, value),
            "assign": lambda: assign_passage(
                query=query,
                passage=passage,
                aspect=self.aspects[pair[0] % 2][value - 1],
                actor=self.expert,
            ),
            "discard": lambda: discard_passage(
                query=query, passage=passage, reason="noise", actor=self.expert
            ),
            "undo": lambda: undo_verdict(query=query, passage=passage, actor=self.expert),
            "lose text": lambda: Passage.objects.filter(pk=passage.pk).update(text=None),
        }
        with contextlib.suppress(Refused):
            verbs[act]()

    def _gold(self, query: Query, passage: Passage, label: int) -> None:
        if not query.judgments.filter(passage=passage, source="original").exists():
            make_gold(query, passage, label=label)

    def _debate(self, query: Query, passage: Passage, label: int) -> None:
        if query.judgments.filter(passage=passage, source="debate").exists():
            return  # a pair is debated once here
        garden = Garden(self.benchmark, query, query, {f"{query.pk}-{passage.pk}": passage})
        answers = ['{"response": "%s"}' % ("yes" if label else "no")] * 2
        debated(garden, f"{query.pk}-{passage.pk}", label, *answers)

    def _votes(self, query: Query, passage: Passage, given: list[int | None]) -> None:
        """One after the other; who comes again replaces or takes back what they said."""
        origin = f"debate:{query.pk}-{passage.pk}"
        case = open_case(origin=origin, kind="dispute", query=query, passage=passage, snapshot={})
        for voter, label in zip(self.voters, given, strict=False):
            earlier = Vote.objects.standing().filter(case=case, voter=voter).first()
            if earlier is not None and label is None:
                withdraw_vote(vote=earlier, actor=voter)
            else:
                replaces = earlier.pk if earlier else None
                cast_vote(case=case, voter=voter, label=label, reason="so", replaces=replaces)

    def _settle(self, query: Query, passage: Passage, label: int) -> None:
        open_cases = EscalationCase.objects.filter(query=query, passage=passage)
        for case in open_cases.filter(status=CaseStatus.EXPERT):
            access = enter(self.admin, "any")
            settle_case(case=case, access=access, label=label, reason="It is so.")


def built(made: Made, folder: Path, version: str, **options: Any) -> Any:
    # Under a name of its own in each example: it is imported again under that name.
    place = folder / f"{folder.name}-{version}"
    release = start_here(benchmark=made.benchmark, version=version, folder=place, **options)
    carry_out(release)
    release.refresh_from_db()
    return release


def check(done: list[tuple[Any, ...]], is_cleaned: bool, folder: Path) -> str:
    """The draft verifies or says what does not; the final release is built if nothing is wrong.

    How the final release ended.
    """
    made = Made()
    for act in done:
        made.do(*act)
    corpus = clean(made.benchmark, preset="diver_rules").version if is_cleaned else None
    draft = built(made, folder, "0.1.0", corpus=corpus)
    assert draft.status == "done", draft.error
    checks = {fault["check"] for fault in draft.faults}
    # Every verb left evidence from which its labels follow: nothing has to be excused.
    assert "unverified" not in checks, draft.faults
    differences = verify(folder / f"{folder.name}-0.1.0").differences
    assert {each.why for each in differences} <= {WITHOUT_TEXT}
    assert not differences or "gold_without_text" in checks
    final = built(made, folder, "1.0.0", final=True, corpus=corpus)
    assert (final.status == "done") is not bool(checks & BLOCKING)
    if final.status == "done":
        assert verify(folder / f"{folder.name}-1.0.0").differences == []
    else:
        assert {fault["check"] for fault in final.faults} == checks & BLOCKING
        assert not (folder / f"{folder.name}-1.0.0").exists()
    return str(final.status)


GOLD = [("gold", (n, n), 1) for n in range(3)]
SUPPORT = [("assign", (n, n), 1) for n in range(2)]
SETTLED = [("votes", (2, 3), [None, 1, None, 0, None]), ("settle", (2, 3), 1)]
SOUND = [*GOLD, *SUPPORT, *SETTLED, ("votes", (2, 4), [0, 1, 1]), ("debate", (2, 1), True)]
AGAIN = [("votes", (2, 0), [1, 0]), ("votes", (2, 0), [0, None]), ("votes", (2, 0), [1, 1, 0])]
TURNED = [*SOUND, ("discard", (0, 0), None), ("undo", (0, 0), None), *AGAIN]
LOST = [*SOUND, ("lose text", (0, 0), None)]


@pytest.mark.django_db
@pytest.mark.parametrize(
    "is_cleaned",
    [pytest.param(False, marks=pytest.mark.slow), True],
    ids=["as loaded", "cleaned"],
)
@pytest.mark.parametrize("done", [SOUND, TURNED, LOST], ids=["sound", "turned", "lost"])
def test_a_benchmark_that_was_worked_on_verifies(done, is_cleaned, tmp_path) -> None:
    assert check(done, is_cleaned, tmp_path) == ("failed" if done is LOST else "done")


@pytest.mark.slow
@pytest.mark.django_db
@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(done=st.lists(acts, max_size=14), is_cleaned=st.booleans())
@example(done=[], is_cleaned=True)
def test_any_benchmark_that_can_be_built_verifies(done, is_cleaned, tmp_path_factory) -> None:
    in_a_world(lambda: check(done, is_cleaned, tmp_path_factory.mktemp("any")))
