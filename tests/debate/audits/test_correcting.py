"""What blind audits say of a run's counts, and draws by error."""

from typing import Any

import pytest

from annotate.models import Aspect, CaseStatus, EscalationCase
from corpus.models import CorpusVersion, Passage, Pool
from debate.audits.correcting import corrected_holes, corrected_sheet
from debate.audits.services import audit_sheet, audited, draw_audit
from debate.models import AuditItem, Debate, DebateRun, Turn
from kit.errors import Refused
from kit.stats.predicted import Stratum, corrected_mean
from tests.annotate.world import hx, make_world, masked, signed_in
from tests.debate.runs.test_screens import make_debate, make_run
from tests.evaluation.leaderboard.test_matched_pool import derive
from tests.factories import make_gold, make_passage, make_pool, make_query

pytestmark = pytest.mark.django_db


@pytest.fixture
def world() -> Any:
    return make_world()


def run_of(world: Any, relevant: int, others: int, *, kind: str = "debate", gold: int = 0) -> Any:
    """Pairs of one domain; the first `gold` relevant ones are in the original gold."""
    status = "agreed" if kind == "debate" else "judged"
    run = make_run(world.benchmark, status="done", kind=kind)
    for place in range(relevant + others):
        number, label = Debate.objects.count(), int(place < relevant)
        query = make_query(world.benchmark, f"q{number}", "biology")
        passage = make_passage(world.benchmark, f"p{number}", "biology")
        if place < gold:
            make_gold(query, passage)
        make_debate(run, status, label=label, round=1, query=query, passage=passage)
    return run


def decide(sample: Any, wrong: dict[int, int]) -> None:
    """Close its cases: of each label the first so many as wrong."""
    left = dict(wrong)
    for item in sample.items.order_by("pk"):
        is_wrong = left.get(item.label, 0) > 0
        left[item.label] = left.get(item.label, 0) - 1
        label = 1 - item.label if is_wrong else item.label
        rows = EscalationCase.objects.filter(pk=item.case_id)
        rows.update(status=CaseStatus.CLOSED, label=label)


def audit_of(run: Any, world: Any, size: int, **options: Any) -> Any:
    return draw_audit(run=run, actor=world.admin, size=size, seed=3, **options)


def cells(run: Any) -> dict[str, list[Any]]:
    return {row[0].value: list(row[1:]) for row in corrected_sheet(run).rows}


def test_counts_of_a_debate_are_corrected_by_what_people_found(world) -> None:
    run = run_of(world, 20, 30)
    assert cells(run) == {}
    decide(audit_of(run, world, 25), {1: 3, 0: 1})
    # 10 of 20 called relevant are drawn, 3 are wrong; 15 of 30 others, 1 is wrong:
    # 20 * 7/10 + 30 * 1/15 = 16 of 50.
    strata = [
        Stratum(30, 0.0, [(0.0, 0.0)] * 14 + [(0.0, 1.0)]),
        Stratum(20, 1.0, [(1.0, 1.0)] * 7 + [(1.0, 0.0)] * 3),
    ]
    mean = corrected_mean(strata)
    for name in ("are relevant", "are holes"):
        of, raw, share, judged, corrected, number = cells(run)[name]
        assert (of.value, raw.value, share.value, judged.value) == (50, 20, 0.4, 25)
        assert corrected.value == pytest.approx(16 / 50)
        assert (corrected.low, corrected.high) == pytest.approx((mean.low, mean.high))
        assert (number.value, number.low) == (16, round(50 * (mean.low or 0)))


def test_a_hole_is_what_the_original_gold_lacks(world) -> None:
    run = run_of(world, 20, 0, gold=10)
    decide(audit_of(run, world, 20), {1: 0})
    found = cells(run)
    assert [found[name][1].value for name in ("are relevant", "are holes")] == [20, 10]
    # All were drawn and confirmed: the number is known.
    holes = found["are holes"][-1]
    assert (holes.low, holes.value, holes.high) == (10, 10, 10)


def test_gold_of_a_cleaned_version_is_no_hole(world) -> None:
    loaded = CorpusVersion.objects.current(world.benchmark)
    pids = [f"g{number}" for number in range(4)]
    queries = [make_query(world.benchmark, pid, "biology") for pid in pids]
    for number, query in enumerate(queries):
        passage = make_passage(world.benchmark, pids[number], "biology")
        if number < 2:
            make_gold(query, passage)
    cleaned = derive(loaded, {pid: [f"clean-{pid}"] for pid in pids})
    new = list(Passage.objects.filter(version=cleaned).order_by("pid"))
    run = make_run(world.benchmark, status="done", kind="debate")
    run.pool = make_pool(world.benchmark, *zip(queries, new, strict=True), name="cleaned")
    Pool.objects.filter(pk=run.pool.pk).update(corpus_version=cleaned)
    run.save()
    for query, passage in zip(queries, new, strict=True):
        make_debate(run, "agreed", label=1, round=1, query=query, passage=passage)
    run.refresh_from_db()
    decide(audit_of(run, world, 4), {})
    # Of four relevant ones two are what became of gold.
    assert [cells(run)[name][1].value for name in ("are relevant", "are holes")] == [4, 2]


def test_a_pair_that_two_runs_labelled_is_one_hole(world) -> None:
    first = run_of(world, 8, 4)
    decide(audit_of(first, world, 6), {})
    again = make_run(world.benchmark, status="done", kind="debate")
    for each in first.debates.filter(label=1).order_by("pk")[:5]:
        pair = {"query": each.query, "passage": each.passage}
        make_debate(again, "agreed", label=1, round=1, **pair)
    pairs = run_of(world, 2, 0).debates.all()
    pairs.update(run=again)
    decide(audit_of(again, world, 2), {})
    ((_, whole, raw, *_),) = corrected_holes([first, again]).rows
    # Of the second run as many as are untouched by people; of the first those that it alone has.
    assert raw.value <= 10
    assert whole.value == len({(d.query_id, d.passage_id) for d in counted([first, again])})


def test_support_of_aspects_is_a_row_beside_the_holes(world) -> None:
    of_pairs = run_of(world, 4, 4)
    decide(audit_of(of_pairs, world, 8), {1: 1})
    query = make_query(world.benchmark, "asked", "biology")
    aspects = [Aspect.objects.create(query=query, k=k, content=f"{k}", weight=1) for k in (1, 2)]
    passages = [make_passage(world.benchmark, f"a{n}", "biology") for n in range(10)]
    of_aspects, again = (make_run(world.benchmark, status="done", kind="debate") for _ in range(2))
    pool = make_pool(world.benchmark, (query, passages[0]), name="aspects")
    Pool.objects.filter(pk=pool.pk).update(of_aspects=True)
    DebateRun.objects.filter(pk__in=(of_aspects.pk, again.pk)).update(pool=pool)
    of_aspects, again = DebateRun.objects.filter(pool=pool).order_by("pk")
    for place, passage in enumerate(passages):
        pair = {"query": query, "passage": passage, "aspect": aspects[0], "round": 1}
        make_debate(of_aspects, "agreed", label=int(place < 6), **pair)
    assert [row[0].value for row in corrected_holes([of_pairs, of_aspects]).rows] == ["are holes"]
    # Drawn in full; of six that support the aspect people find two wrong: 4 of 10.
    decide(audit_of(of_aspects, world, 10), {1: 2})
    # Of another aspect the same passage is another pair: 5 of 11.
    other = make_passage(world.benchmark, "b", "biology")
    pair = {"query": query, "aspect": aspects[1], "round": 1}
    make_debate(again, "agreed", label=1, passage=other, **pair)
    decide(audit_of(again, world, 1), {})
    make_debate(again, "agreed", label=1, passage=passages[0], **pair)  # judged by people before

    holes, support = corrected_holes([of_pairs, of_aspects, again]).rows
    assert [cell.value for cell in holes[:3]] == ["are holes", 8, 4]
    assert (holes[5].value, holes[6].value) == (pytest.approx(3 / 8), 3)
    assert [cell.value for cell in support[:5]] == ["support the aspect", 11, 7, 7 / 11, 11]
    assert (support[5].value, support[6].value) == (pytest.approx(5 / 11), 5)


def counted(runs: Any) -> Any:
    """Debates that the latest run has of each pair, judged by nobody or in that run's own audit."""
    found = {}
    for run in runs:
        for each in run.debates.all():
            found[each.query_id, each.passage_id] = each
    own = set(AuditItem.objects.values_list("debate", flat=True))
    known = set(EscalationCase.objects.values_list("query", "passage"))
    return [each for pair, each in found.items() if each.pk in own or pair not in known]


def test_what_a_filter_lost_is_estimated(world) -> None:
    run = run_of(world, 0, 40, kind="filter")
    decide(audit_of(run, world, 20), {0: 2})
    of, raw, _, judged, share, number = cells(run)["are relevant, though discarded"]
    assert (of.value, raw.value, judged.value, number.value) == (40, 0, 20, 4)
    assert share.low < 0.1 < share.high


def test_pairs_that_people_knew_before_are_no_part_of_it(world) -> None:
    run = run_of(world, 12, 8)
    known = run.debates.order_by("pk").first()
    world.case(query=known.query, passage=known.passage)
    decide(audit_of(run, world, 10), {})
    assert cells(run)["are relevant"][0].value == 19


def test_a_draw_by_error_goes_where_labels_are_least_sure(world) -> None:
    run = run_of(world, 30, 30)
    with pytest.raises(Refused, match="in proportion first"):
        audit_of(run, world, 5, by_error=True)
    # 10 of each; of those called relevant 5 are wrong, of the others none.
    decide(audit_of(run, world, 20), {1: 5, 0: 0})
    again = audit_of(run, world, 12, by_error=True)
    labels = list(again.items.values_list("label", flat=True))
    # 900 * 1/4 / (n (n + 1)) stays above 900 * 11/144 / 110 = .625 until n = 18: nine, then one of
    # the others, whose next would bring .521; two more bring .592 and .536.
    assert (labels.count(1), labels.count(0)) == (11, 1)
    decide(again, {1: 5, 0: 0})
    first, second = audited(run)
    assert first.bound is not None
    assert second.bound is None
    assert audit_sheet(run).rows[1][6].value is None
    # Both draws together: 21 of 30 with 10 wrong, 11 of 30 with none.
    assert cells(run)["are relevant"][3].value == 32
    assert cells(run)["are relevant"][4].value == pytest.approx(0.5 * 11 / 21)


def test_of_a_graded_judge_grades_are_strata(world) -> None:
    run = run_of(world, 20, 40, kind="graded")
    pairs = list(run.debates.order_by("pk"))
    grades = [3.0] * 20 + [1.0] * 10 + [0.0] * 30
    for pair, grade in zip(pairs, grades, strict=True):
        Turn.objects.create(debate=pair, round=1, agent="judge", label=pair.label, score=grade)
    graded = {pair.pk: grade for pair, grade in zip(pairs, grades, strict=True)}

    def drawn(sample: Any) -> list[float]:
        return [graded[pk] for pk in sample.items.values_list("debate", flat=True)]

    sample = audit_of(run, world, 30)
    assert [drawn(sample).count(grade) for grade in (0.0, 1.0, 3.0)] == [15, 5, 10]
    for item in sample.items.all():
        # People find all relevant that was graded 1 or more.
        label = int(graded[item.debate_id] > 0)
        EscalationCase.objects.filter(pk=item.case_id).update(status=CaseStatus.CLOSED, label=label)
    strata = [
        Stratum(30, 0.0, [(0.0, 0.0)] * 15),
        Stratum(10, 0.0, [(0.0, 1.0)] * 5),
        Stratum(20, 1.0, [(1.0, 1.0)] * 10),
    ]
    mean = corrected_mean(strata)
    *_, judged, corrected, number = cells(run)["are relevant"]
    assert (judged.value, corrected.value, number.value) == (30, pytest.approx(1 / 2), 30)
    assert (corrected.low, corrected.high) == pytest.approx((mean.low, mean.high))
    # Of 5 with grade 1 all were wrong: by (hits + 1) / (n + 2) the spreads are 900 * 16/17 / 17
    # / (15 * 16) = .208, 100 * 6/7 / 7 / (5 * 6) = .408 and 400 * 11/12 / 12 / (10 * 11) = .278.
    assert drawn(audit_of(run, world, 1, by_error=True)) == [1.0]


@pytest.mark.slow
def test_report_csv_and_api_have_it_and_voters_do_not(world) -> None:
    run = run_of(world, 10, 10)
    decide(audit_of(run, world, 10), {1: 1})
    admin = signed_in(world.admin)
    page = admin.get(world.url(f"debates/{run.pk}/report/"))
    assert "Corrected by the audits of agreed pairs" in page.content.decode()
    csv = admin.get(world.url(f"debates/{run.pk}/report/corrected.csv"))
    rows = b"".join(csv.streaming_content).decode() if csv.streaming else csv.content.decode()
    assert rows.splitlines()[1].startswith("are relevant,20,10,0.5,10,")
    posted = admin.post(
        world.url(f"debates/{run.pk}/audits/"), {"size": 4, "seed": 2, "by_error": "on"}
    )
    assert posted.status_code == 302
    assert run.audits.filter(by_error=True).count() == 1
    holes = admin.get(world.url("holes/")).content.decode()
    assert "Holes, corrected by audits" in holes
    voter = signed_in(world.voters[0]).get(world.url("holes/"), **hx())
    assert "corrected by audits" not in masked(voter)
