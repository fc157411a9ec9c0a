"""Cards of judges: what is held out, what the figures are, families, files, screens."""

import csv
import io
import json
from datetime import timedelta
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import call_command
from django.utils import timezone

from annotate.models import AnswerGrade, Aspect, EscalationCase, GradedAnswer
from annotate.support.services import record_support
from corpus.judgments.services import record_judgment
from corpus.models import (
    ExpansionRun,
    Judgment,
    Passage,
    Pool,
    PoolEntry,
    QuerySource,
    RerankRun,
    RetrievalRun,
    RunComputation,
    Source,
)
from debate.audits.services import draw_sample
from debate.models import Debate, DebateRun
from debate.runs.configuration import STANCES, ModelChoice, RunConfig, as_json
from evaluation.agents.models import JudgeRun
from evaluation.agents.protocol.judging import Exam, Judge, judge_request
from evaluation.agents.trust.bridges import start_bridge
from evaluation.judges.card import Measure, Seen, table_of
from evaluation.judges.cards import cards_of
from evaluation.judges.families import family_of, shared_families
from evaluation.judges.orders import Order, meta_table, orders_of
from evaluation.judges.related import aligned_twice, by_labels, families_table, without_family
from evaluation.models import SupportRun, SupportSet
from evaluation.rag.models import RagRun
from evaluation.releases.findings import family_fault
from evaluation.tasks import JUDGES
from llm import endpoints
from tests.annotate.world import make_world, signed_in
from tests.debate.runs.test_screens import make_debate, make_run
from tests.evaluation.agents.room import Place, make_place
from tests.evaluation.agents.test_agent_screens import judged
from tests.evaluation.agents.test_people import drawn, say, score, told_apart
from tests.evaluation.rag.boards import CONFIG, Sheets
from tests.factories import make_gold, make_passage, make_query, make_ranking

pytestmark = pytest.mark.django_db(transaction=True)
SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)


def seen(*rows: tuple[float, float, int]) -> list[Seen]:
    return [Seen((n,), n, judge, other, length) for n, (judge, other, length) in enumerate(rows)]


def test_length_bias_is_what_length_adds_beyond_what_people_say() -> None:
    # People's values and lengths go together; the judge follows people alone.
    fair = Measure(
        "quality", SCALE, seen((1, 1, 10), (2, 2, 90), (3, 3, 40), (4, 4, 80), (5, 4, 9))
    )
    # The judge gives what people give, and one point more for each long text.
    biased = Measure(
        "quality", SCALE, seen((1, 1, 9), (3, 2, 99), (2, 2, 9), (4, 3, 99), (3, 3, 9), (5, 4, 99))
    )
    assert biased.length_bias == pytest.approx(1.0)
    assert fair.length_bias is not None
    assert fair.length_bias < 0
    assert Measure("quality", SCALE, seen((1, 1, 1))).length_bias is None


def test_calibration_is_the_distance_from_people_over_bins() -> None:
    # Five bins of one: |0 - .25|, |.25 - .25|, |.5 - .5|, |.75 - .5|, |1 - 1|: .5 / 5.
    found = Measure("quality", SCALE, seen((1, 2, 1), (2, 2, 1), (3, 3, 1), (4, 3, 1), (5, 5, 1)))
    assert found.calibration == pytest.approx(0.1)


# Models that label pairs.


@pytest.fixture
def world() -> Any:
    return make_world()


def audited(run: DebateRun, *people: int) -> None:
    sample = draw_sample(run=run, size=len(people), seed=1, actor=None)
    for item, label in zip(sample.items.order_by("debate"), people, strict=True):
        EscalationCase.objects.filter(pk=item.case_id).update(status="closed", label=label)


def run_with(world: Any, *labels: int, **fields: Any) -> DebateRun:
    run = make_run(world.benchmark, status="done", done=len(labels), **fields)
    for label in labels:
        number = Debate.objects.count()
        query = make_query(world.benchmark, f"q{number}", "biology")
        passage = make_passage(world.benchmark, f"p{number}", "biology")
        make_debate(run, "agreed", label=label, round=1, query=query, passage=passage)
    return run


def cells(card: Any) -> dict[str, tuple[Any, Any]]:
    return {row[0].value: (row[1].value, row[2].value) for row in table_of(card).rows}


def test_agreement_is_taken_on_queries_that_the_prompts_author_never_saw(world) -> None:
    old = run_with(world, 1, 0, prompt_sha256="a" * 64)
    new = run_with(world, 1, 1, 0, 0, prompt_sha256="b" * 64)
    # One query of the new prompt's was debated under the old one already.
    first = new.debates.order_by("pk").first()
    make_debate(old, "agreed", label=1, round=1, query=first.query,
                passage=make_passage(world.benchmark, "other", "biology"))  # fmt: skip
    audited(new, 0, 1, 0, 1)
    known = {each.key: each for each in cards_of(world.benchmark)}
    card = known[f"labels-{new.pk}"]
    # All four: 2 of 4 alike, margins even: (1/2 - 1/2) / (1/2) = 0. Without the first, (1, 1),
    # (0, 0) and (0, 1): 2/3 alike, by chance 1/3 * 2/3 + 2/3 * 1/3 = 4/9: (2/9) / (5/9) = .4.
    assert cells(card)["κ, blind audits, all items"] == (pytest.approx(0.0), 4)
    assert cells(card)["κ, blind audits, held out"] == (pytest.approx(0.4), 3)
    assert cells(known[f"labels-{old.pk}"])["without a verdict"] == (0.0, 3)


def test_swapped_seats_and_repeated_runs_are_set_side_by_side(world) -> None:
    def config(**given: Any) -> dict[str, Any]:
        # As a run keeps it: whoever is first, each agent has its stance by name.
        return as_json(RunConfig(**given).with_models("m", "e"))

    run = run_with(world, 1, 0, 1, config=config())
    fixed = tuple(ModelChoice("m", "e", stance) for stance in STANCES)
    for config_of, labels in (
        (config(first="irrelevant", agents=fixed), (1, 0, 1)),  # the same debate
        (config(first="irrelevant"), (1, 1, 1)),
        (config(replicate=1), (1, 0, 0)),
        (config(rounds=3), (0, 1, 0)),
    ):
        again = make_run(world.benchmark, status="done", done=3, config=config_of)
        for debate, label in zip(run.debates.order_by("pk"), labels, strict=True):
            make_debate(again, "agreed", label=label, round=1, query=debate.query,
                        passage=debate.passage)  # fmt: skip
    (card,) = cards_of(world.benchmark)
    assert (card.swap.hits, card.swap.n) == (1, 3)
    assert (card.again.hits, card.again.n) == (1, 3)


def test_debates_on_aspects_have_a_card_of_their_own(world) -> None:
    pairs = run_with(world, 1, 0)
    run = run_with(world)
    pool = Pool.objects.create(benchmark=world.benchmark, name="gaps", of_aspects=True)
    DebateRun.objects.filter(pk=run.pk).update(pool=pool, done=3)
    run.refresh_from_db()
    query = make_query(world.benchmark, "asked", "biology")
    aspects = [Aspect.objects.create(query=query, k=k, content="A", weight=1) for k in (1, 2)]
    # One passage for both aspects: two labels, not one.
    passage = make_passage(world.benchmark, "both", "biology")
    for aspect, label in zip(aspects, (1, 0), strict=True):
        make_debate(run, "agreed", label=label, round=1, query=query, passage=passage,
                    aspect=aspect)  # fmt: skip
    other = make_passage(world.benchmark, "other", "biology")
    make_debate(run, "agreed", label=0, round=1, query=query, passage=other, aspect=aspects[0])
    audited(run, 1, 0, 1)
    cards = {each.key: each for each in cards_of(world.benchmark)}
    assert cards.keys() == {f"labels-{pairs.pk}", f"labels-{run.pk}"}
    card = cards[f"labels-{run.pk}"]
    assert (card.kind, card.verdicts, card.files) == ("Debate on aspects", 3, [])
    # (1, 1), (0, 0), (0, 1): 2/3 alike, by chance 4/9: (2/3 - 4/9) / (5/9) = .4.
    assert cells(card)["κ, blind audits, all items"] == (pytest.approx(0.4), 3)


def test_of_a_judge_without_stances_no_order_can_be_swapped(world) -> None:
    for first in STANCES:  # as it could be set up before it was refused
        config = as_json(RunConfig(kind="filter", first=first).with_models("m", "e"))
        run_with(world, 1, 0, kind="filter", config=config)
    (card,) = cards_of(world.benchmark)
    rows = [row for row in table_of(card).rows if "order is swapped" in str(row[0].value)]
    assert [cell.value for cell in rows[0][1:]] == [
        None, 0, "cannot be tried with judges of this kind"
    ]  # fmt: skip


# Judges of agents.


@pytest.fixture
def place(settings, tmp_path) -> Place:
    return make_place(settings, tmp_path)


def test_a_judge_of_agents_has_a_card_with_people_length_swap_and_cost(place) -> None:
    run = told_apart(place.run(rounds=3))
    judge = judged(place, run)
    drawn(place, run, size=6, people=2)
    answers = list(GradedAnswer.objects.order_by("pk"))[:4]
    for answer, said, people in zip(answers, (5, 4, 2, 1), (4, 4, 1, 2), strict=True):
        say(judge, answer, 1.0, said)
        score(place, place.room.author, answer, 1.0, people)
    with endpoints.practice_if_unconfigured("grader") as endpoint:
        bridge = start_bridge(
            judge=judge, endpoint=endpoint, actor=None, swapped=True, claimed=True, size=50
        )
        JUDGES.drive(bridge)
    bridge.refresh_from_db()
    assert bridge.status == "done"
    assert "aspects swapped" in bridge.judge
    # Experts had labelled passages of the query when the prompt was first used: it was seen.
    (card,) = cards_of(place.room.benchmark)  # the swapped one has no card of its own
    assert cells(card)["κ, quality, held out"] == (None, 0)
    Judgment.objects.update(created_at=timezone.now())
    (card,) = cards_of(place.room.benchmark)
    found = cells(card)
    # 1 - sum of squares / what chance gives: squares 1, 0, 1, 1 to 3 of 4; margins 5, 4, 2, 1 and
    # 4, 4, 1, 2: from 5 (1 + 1 + 16 + 9) / 4, 4 (0 + 0 + 9 + 4) / 4, 2 (4 + 4 + 1 + 0) / 4, 1
    # (9 + 9 + 0 + 1) / 4 = 27/4, 13/4, 9/4, 19/4; their mean is 17/4. 1 - (3/4) / (17/4) = 14/17.
    assert found["κ, quality, held out"] == (pytest.approx(14 / 17), 4)
    assert found["changes when the order is swapped"][1] > 0
    assert found["dollars a verdict"][1] == card.verdicts > 0
    # People who graded before the prompt was first used make its author one who saw the query.
    AnswerGrade.objects.update(created_at=timezone.now() - timedelta(days=400))
    (card,) = cards_of(place.room.benchmark)
    assert cells(card)["κ, quality, held out"] == (None, 0)
    assert cells(card)["κ, quality, all items"][1] == 4


def test_aspects_are_shown_the_other_way_round() -> None:
    exam = Exam("q", ((1, "first", 3), (2, "second", 1)), "", "answer")
    texts = [
        str(judge_request(exam, Judge("e", "m", swapped=swapped), b"k").messages)
        for swapped in (False, True)
    ]
    assert texts[0].index("first") < texts[0].index("second")
    assert texts[1].index("second") < texts[1].index("first")


# Families.


@pytest.mark.parametrize(
    ("model", "family"),
    [
        ("Qwen/Qwen3-32B", "qwen"),
        ("qwen2.5-7b-instruct", "qwen"),
        ("openai/gpt-4o", "gpt"),
        ("o3-mini", "gpt"),
        ("meta-llama/Llama-3.3-70B", "llama"),
        ("mixtral-8x7b", "mistral"),
        ("7b-nameless", "7b-nameless"),
    ],
)
def test_a_family_is_the_first_word_of_the_name(model, family) -> None:
    assert family_of(model) == family


def shared(world: Any) -> Any:
    """Labels by qwen; of three systems one is reranked by qwen, and alone brought a hole."""
    run = make_run(world.benchmark, status="done")
    run.model = "Qwen/Qwen3-32B"
    run.save()
    query = make_query(world.benchmark, "asked", "biology")
    known = make_passage(world.benchmark, "known", "biology")
    make_gold(query, known)
    hole = make_passage(world.benchmark, "hole", "biology")
    record_judgment(
        query=query, passage=hole, label=1, source=Source.DEBATE, round=1,
        provenance={"run": run.pk, "model": run.model},
    )  # fmt: skip
    lists = {
        "reranked": ("hole", "known"),
        "lexical": ("x", "hole", "known"),
        "dense": ("known", "x"),
    }
    made = {name: make_ranking(query, *pids, name=name).run for name, pids in lists.items()}
    RerankRun.objects.create(
        benchmark=world.benchmark, name="r", method="pointwise", source=made["lexical"],
        run=made["reranked"], endpoint="e", model="qwen3-reranker-8b", status="done",
    )  # fmt: skip
    PoolEntry.objects.create(
        pool=run.pool, query=query, passage=hole, systems=[{"system": "reranked", "rank": 1}]
    )
    return run


def test_shared_families_are_named_in_the_release_and_ranked_without(world) -> None:
    assert family_fault(world.benchmark) == []
    run = shared(world)
    assert shared_families(world.benchmark) == {
        "qwen": {"labels": ["Qwen/Qwen3-32B"], "reranks": ["qwen3-reranker-8b"]}
    }
    (fault,) = family_fault(world.benchmark)
    assert fault.check == "shared_family"
    assert fault.rows[0]["name"] == (
        "qwen: labels Qwen/Qwen3-32B; reranks qwen3-reranker-8b; "
        "Kendall's tau of nDCG@10 with and without it -1.000"
    )
    (row,) = families_table(world.benchmark).rows
    assert row[0].value == "qwen"
    table = without_family(world.benchmark)
    ranks = {row[0].value: (row[4].value, row[5].value) for row in table.rows}
    # With the hole: reranked 1; lexical (1/log2 3 + 1/2) / 1.631 = .693; dense 1 / 1.631 = .613.
    # Without it dense has 1 and lexical 1/2: the order of both is turned round.
    assert ranks == {"reranked": (1, None), "lexical": (2, 2), "dense": (3, 1)}
    assert "the systems that stay: -1.000" in table.notes[0]
    # Another system brought the hole as well: it stays, and so does the order.
    PoolEntry.objects.update(systems=[{"system": "reranked"}, {"system": "lexical"}])
    assert "the systems that stay: 1.000" in without_family(world.benchmark).notes[0]
    run.practice = True
    run.save()
    assert shared_families(world.benchmark) == {}


def test_models_that_debate_aspects_give_labels_too(world) -> None:
    run = make_run(world.benchmark, status="done")
    DebateRun.objects.filter(pk=run.pk).update(model="qwen3-32b")
    query = make_query(world.benchmark, "asked", "biology")
    aspect = Aspect.objects.create(query=query, k=1, content="Of wax.", weight=5)
    RagRun.objects.create(benchmark=world.benchmark, name="rag", harness="short", config=CONFIG,
                          endpoint="e", model="qwen2.5-7b")  # fmt: skip
    assert shared_families(world.benchmark) == {}
    record_support(
        aspect=aspect, passage=make_passage(world.benchmark, "p", "biology"), label=1,
        source=Source.DEBATE, provenance={"run": run.pk},
    )  # fmt: skip
    assert shared_families(world.benchmark) == {
        "qwen": {"answers": ["qwen2.5-7b"], "labels": ["qwen3-32b"]}
    }


def test_alignment_is_told_without_the_labels_of_a_family_that_reranks(world) -> None:
    shared(world)
    query = world.benchmark.domains.get(name="biology").queries.get(qid="asked")
    run = RagRun.objects.create(
        benchmark=world.benchmark, name="answers", harness="short", k=1, endpoint="e",
        model="llama-3", status="done", config=CONFIG,
    )  # fmt: skip
    right = {"reranked": 1, "lexical": 0, "dense": 0}
    for ranked in world.benchmark.retrieval_runs.filter(name__in=right):
        value = [right[ranked.name]]
        sheet = {"queries": [query.pk], "accuracy": value, "exact": value, "f1": value}
        run.sources.create(kind="run", name=ranked.name, retrieval_run=ranked, sheet=sheet)
    unanswered = make_ranking(make_query(world.benchmark, "no gold", "biology"), "x", name="bare")
    sheet = {"queries": [unanswered.query_id], "accuracy": [1], "exact": [1], "f1": [1]}
    run.sources.create(kind="run", name="bare", retrieval_run=unanswered.run, sheet=sheet)
    (found,) = aligned_twice(world.benchmark)
    names = dict(run.sources.values_list("pk", "name"))
    sides = [{names[int(k)]: v for k, v in of.items()} for of in (found.before, found.after)]
    # Only qwen's hole is what the reranked list has first: a hit and a right answer with it, a miss
    # and a right one without. The others: a miss and a wrong answer, a hit and a wrong one.
    assert sides == [
        {"reranked": 1.0, "lexical": 1.0, "dense": 0.0},
        {"reranked": 0.0, "lexical": 1.0, "dense": 0.0},
    ]
    # One of three pairs is ordered in both; each order has a tie: 1 / sqrt(2 * 2).
    assert (found.tau, found.dropped) == (pytest.approx(0.5), ["bare"])
    table = by_labels([found])
    assert {row[2].value: row[3].value for row in table.rows}["reranked"] == "yes"
    assert table.notes[1] == (
        "RAGAlign of llama-3 (answers): Kendall’s tau between both orders 0.500. "
        "No hit or outcome is known of 1 left out: bare."
    )
    # A person says the same of the hole: no label of qwen's counts any more.
    hole = Passage.objects.get(pid="hole")
    record_judgment(query=query, passage=hole, label=1, source=Source.HUMAN, provenance={})
    assert aligned_twice(world.benchmark) == []


def test_what_is_made_of_a_reranking_shares_its_family(world) -> None:
    shared(world)
    query = world.benchmark.domains.get(name="biology").queries.get(qid="asked")
    runs = {run.name: run for run in world.benchmark.retrieval_runs.all()}

    def made(name: str) -> RetrievalRun:
        return make_ranking(query, "known", "hole", name=name).run

    def rerank(name: str, model: str, source: RetrievalRun, second=None) -> RetrievalRun:
        return RerankRun.objects.create(
            benchmark=world.benchmark, name=name, method="merge" if second else "listwise",
            source=source, second=second, run=made(name), model=model, status="done",
        ).run  # fmt: skip

    merge = rerank("merge", "", runs["dense"], runs["reranked"])
    rerank("on top", "llama-3", merge)
    expansion = ExpansionRun.objects.create(
        benchmark=world.benchmark, name="worded", method="qexpand", endpoint="e",
        model="qwen3-32b", status="done",
    )  # fmt: skip
    source = QuerySource.objects.create(benchmark=world.benchmark, name="worded", digest="d")
    expansion.report = {"rounds": [{"round": 1, "source": source.pk, "run": None}]}
    expansion.save()
    for name, config in (
        ("worded", {"queries": source.pk}),
        ("hybrid", {"runs": [merge.pk, runs["dense"].pk]}),
        ("apart", {"runs": [runs["dense"].pk, runs["lexical"].pk]}),
    ):
        RunComputation.objects.create(
            benchmark=world.benchmark, name=name, method="x", config=config, run=made(name)
        )
    rows = without_family(world.benchmark).rows
    related = {row[0].value for row in rows if row[1].value == "yes"}
    assert related == {"reranked", "merge", "on top", "worded", "hybrid"}
    assert {row[0].value for row in rows} - related == {"dense", "lexical", "apart"}
    assert shared_families(world.benchmark)["qwen"]["words queries"] == ["qwen3-32b"]


def test_judges_of_citations_decide_on_what_their_family_wrote(world) -> None:
    answers = SupportSet.objects.create(benchmark=world.benchmark, kind="import", name="answers")
    asked = {"benchmark": world.benchmark, "endpoint": "e", "model": "qwen3-32b"}
    SupportRun.objects.create(support_set=answers, config={}, **asked)
    RagRun.objects.create(name="rag", harness="cited", config=CONFIG, **asked)
    assert shared_families(world.benchmark) == {
        "qwen": {"answers": ["qwen3-32b"], "judges answers": ["qwen3-32b"]}
    }


def test_orders_are_compared_with_and_without_systems_of_a_judges_family() -> None:
    families = {name: frozenset({family}) for name, family in
                (("a", "qwen"), ("b", "gpt"), ("c", "llama"), ("d", "llama"))}  # fmt: skip
    qwen = Order("by qwen", {"a": 5, "b": 3, "c": 2, "d": 1}, "qwen", families)
    people = Order("people", {"a": 1, "b": 4, "c": 3, "d": 2}, "", families)
    (row,) = meta_table({"agents": [qwen, people]}).rows
    # All pairs with a are turned round: (3 - 3) / 6; without it none is. tau-AP along people's
    # order: 2 (1 + 1 + 0) / 3 - 1 = 1/3, along the other: 2 (0 + 1/2 + 2/3) / 3 - 1 = -2/9.
    assert [cell.value for cell in row[1:]] == [
        "by qwen and people", 4, 0.0, pytest.approx(-0.2), pytest.approx(1 / 18), 3, 1.0,
    ]  # fmt: skip


def test_grades_of_another_harness_or_depth_are_ranked_apart() -> None:
    sheets = Sheets(2)
    given = {sheets.source("run", name, [1, 0]): [1, 0] for name in ("a", "b")}
    sheets.graded("one", given)
    sheets.graded("two", given)
    RagRun.objects.update(k=5)
    sheets.run = RagRun.objects.create(
        benchmark=sheets.benchmark, name="more", harness="short", config=CONFIG, k=10,
        endpoint="e", model="m", status="done",
    )  # fmt: skip
    sheets.graded("one", {sheets.source("run", "a", [0, 0]): [0, 0]})
    found = orders_of(sheets.benchmark)
    means = {what: {each.name[:3]: each.means for each in found[what]} for what in found}
    both = {"m, a": 0.5, "m, b": 0.5}
    assert means["answers, short, 5 passages"] == {"one": both, "two": both}
    # One leaderboard of a grader holds both: they have names of their own.
    assert means["answers, short, 10 passages"] == {"one": {"m (more), a": 0.0}}


# Files, command, screen, API.


@pytest.mark.slow
def test_a_leaderboard_goes_out_and_comes_in_beside_itself(place) -> None:
    for name in ("one", "two", "three"):
        run = place.run()
        run.name = f"run {name}"
        run.save()
        judge = judged(place, run)
    for number, each in enumerate(JudgeRun.objects.order_by("pk"), start=1):
        each.verdicts.update(state="judged", quality=number, completeness=1)
    slug = place.room.benchmark.slug
    out = io.StringIO()
    call_command("judge_card", slug, export="leaderboard", shape="tot", stdout=out)
    lines = out.getvalue().splitlines()
    assert any(line.startswith("run_one\tquality\tall\t1") for line in lines)
    admin = signed_in(place.room.admin)
    base = place.room.url("judges/")
    sent = {
        "kind": "leaderboard",
        "shape": "tot",
        "file": SimpleUploadedFile("theirs.txt", out.getvalue().encode()),
    }
    page = admin.post(base, sent)
    assert page.status_code == 200
    assert "A leaderboard from elsewhere" in page.content.decode()
    given = {"kind": "leaderboard", "shape": "tot", "text": out.getvalue()}
    (table,) = admin.post(f"/api{base}compare/", given, "application/json").json()
    own = next(row for row in table["rows"] if row[0]["value"] == "quality"
               and row[1]["value"].startswith("quality"))  # fmt: skip
    assert [cell["value"] for cell in own[2:]] == [3, 1.0, 1.0, 1.0]
    # Lines of trec_eval have no run: the file's name is it, until a line names that of those below.
    lines = b"quality\tall\t1\nrunid\tall\trun_two\nquality\tall\t2\n"
    file = SimpleUploadedFile("run_one.txt", lines)
    page = admin.post(base, sent | {"shape": "trec_eval", "file": file}).content.decode()
    assert "An order needs two systems" not in page
    file = SimpleUploadedFile("elsewhere.txt", lines)  # one of both is nobody's here
    page = admin.post(base, sent | {"shape": "trec_eval", "file": file}).content.decode()
    assert "An order needs two systems" in page
    wrong = admin.post(base, sent | {"file": SimpleUploadedFile("w.txt", b"a b c d\n")})
    assert wrong.status_code == 422
    assert "line 1: &#x27;d&#x27; is no finite number." in wrong.content.decode()
    assert judge.judge in admin.get(base).content.decode()
    assert admin.get(f"/api{base}files/qrels/").status_code == 409
    bank = admin.get(f"/api{base}files/nuggets/").content.decode().splitlines()
    assert json.loads(bank[0])["nugget_bank"]
    beside = admin.post(f"/api{base}compare/", {"kind": "nuggets", "text": "\n".join(bank)},
                        "application/json").json()  # fmt: skip
    assert beside[0]["rows"][0][1]["value"] == beside[0]["rows"][0][2]["value"] > 0


def test_labels_go_out_as_qrels_and_come_in_beside_peoples(world) -> None:
    run = run_with(world, 1, 0, 1)
    for debate, label in zip(run.debates.order_by("pk"), (1, 0, 0), strict=True):
        record_judgment(query=debate.query, passage=debate.passage, label=label,
                        source=Source.HUMAN, provenance={})  # fmt: skip
    admin, base = signed_in(world.admin), "/api/b/garden/judges/"
    lines = admin.get(f"{base}files/qrels/?judge={run.pk}").content.decode()
    assert len(lines.splitlines()) == 3
    assert lines.startswith("q0 0 p0 1\n")
    make_query(world.benchmark, "w", "weather")  # ids of two domains may be the same
    assert admin.get(f"{base}files/qrels/").content.decode().startswith("biology/q0 0 p0 1\n")
    lines = lines.replace("q", "biology/q")
    given = {"kind": "qrels", "text": lines}
    (table,) = admin.post(f"{base}compare/", given, "application/json").json()
    row = [cell["value"] for cell in table["rows"][0]]
    # 2 of 3 alike; by chance 2/3 * 1/3 + 1/3 * 2/3 = 4/9: (2/9) / (5/9) = .4.
    assert row[1:4] == [3, 3, pytest.approx(0.4)]
    refused = admin.post(f"{base}compare/", given | {"text": "q1 0 p1"}, "application/json")
    assert refused.status_code == 409
    assert "qrels:1: Four columns" in refused.content.decode()


def test_what_agents_say_once_people_were_heard_is_no_label_of_a_judge(world) -> None:
    run = run_with(world, 1, 0, 1)
    before = cards_of(world.benchmark)
    heard = make_run(world.benchmark, status="done", done=1, is_trial=True, reheard_of=run)
    debate = run.debates.order_by("pk").first()
    make_debate(heard, "agreed", label=0, round=1, query=debate.query, passage=debate.passage)
    assert [(card.key, card.verdicts) for card in cards_of(world.benchmark)] == [
        (card.key, card.verdicts) for card in before
    ]
    admin, url = signed_in(world.admin), "/api/b/garden/judges/files/qrels/"
    assert admin.get(url).content == admin.get(f"{url}?judge={run.pk}").content
    assert admin.get(f"{url}?judge={heard.pk}").status_code == 409


@pytest.mark.slow
def test_cards_are_printed_and_downloaded(world) -> None:
    audited(run_with(world, 1, 0), 1, 0)
    out = io.StringIO()
    call_command("judge_card", "garden", stdout=out)
    title, *rows = out.getvalue().splitlines()
    assert title.startswith("# Debate: m-1, prompt")
    assert next(csv.reader(rows))[0] == "figure"
    call_command("judge_card", "garden", json=True, stdout=(told := io.StringIO()))
    (table,) = json.loads(told.getvalue())
    admin = signed_in(world.admin)
    assert admin.get("/api/b/garden/judges/").json() == [table]
    file = admin.get(f"/b/garden/judges/{table['name']}.csv")
    assert b"".join(file.streaming_content).decode().splitlines()[0].startswith("figure,value")
    for voter in (world.voters[0], world.stranger):
        assert signed_in(voter).get("/b/garden/judges/").status_code in (403, 404)
    empty = signed_in(world.stranger).get("/b/elsewhere/judges/")
    assert empty.status_code == 403 or "No judge yet" in empty.content.decode()
