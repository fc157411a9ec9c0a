"""Holes by aspects, where gold is thin, and the labels that help most (docs/protocol.md X07)."""

import json
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import call_command
from django.urls import reverse
from django.utils import timezone

from annotate.models import Aspect, EscalationCase, GoldPassage, SupportLabel, VotingPlan
from annotate.support.services import record_support
from corpus.judgments.services import record_judgment
from corpus.models import Passage, Pool, PoolEntry
from evaluation.chain.effects import measured
from evaluation.holes.next_labels import (
    Costs,
    as_table,
    chances,
    costs,
    next_labels,
    pool_next,
)
from evaluation.holes.tables import aspect_tables, growth_table, holes_in
from evaluation.leaderboard.services import drill, leaderboard_of
from evaluation.scores import sheets
from evaluation.scores.models import ScoreSheet
from evaluation.scores.services import GoldView
from kit.errors import Refused
from kit.models import Event, SignInLink
from llm.models import Call
from tests.annotate.world import signed_in
from tests.debate.runs.test_screens import make_debate, make_run, make_turns
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_query,
    make_ranking,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def garden() -> Any:
    """Aspects of 3 and 1: the gold supports the second; agents say that "near" does the first."""
    benchmark = make_benchmark()
    query = make_query(benchmark)
    first = Aspect.objects.create(query=query, k=1, content="Of light.", weight=3)
    second = Aspect.objects.create(query=query, k=2, content="Of wax.", weight=1)
    gold, near = make_passage(benchmark, "gold"), make_passage(benchmark, "near")
    make_gold(query, gold)
    GoldPassage.objects.create(aspect=second, query=query, passage=gold)
    make_ranking(query, "near", "gold", name="one", scores=[2, 1])
    make_ranking(query, "gold", name="two", scores=[1])
    record_support(aspect=first, passage=near, label=1, source="debate", provenance={})
    return benchmark


def proposed(benchmark: Any, *rows: tuple[str, int]) -> None:
    """Proposals (passage, aspect) at ranks 1, 2, ..."""
    query = Aspect.objects.get(k=1).query
    pool = Pool.objects.create(benchmark=benchmark, name="gaps", of_aspects=True)
    for rank, (pid, k) in enumerate(rows, start=1):
        known = query.domain.passages.filter(pid=pid).first()
        PoolEntry.objects.create(
            pool=pool,
            query=query,
            passage=known or make_passage(benchmark, pid),
            aspect=k,
            systems=[{"system": "one", "rank": rank, "score": None}],
        )


def scored(benchmark: Any) -> Any:
    sheet = sheets.request_sheet(benchmark=benchmark, actor=None, claimed=True)
    sheets.carry_out(sheet)
    sheet.refresh_from_db()
    return sheet


def test_machine_gold_counts_in_measures_of_aspects_alone(garden) -> None:
    sheet = scored(garden)
    found = sheet.holes["biology"]
    one, two = found["aspects"]["systems"]
    assert one["aspect_hole@10"] == pytest.approx(0.75 / 10)  # 3 / (3 + 1), of ten places
    assert one["new_aspect@10"] == pytest.approx(0.75)
    assert one["aspect_recall@25"] == pytest.approx(1.0)
    assert two["aspect_recall@25"] == pytest.approx(0.25)
    # No label of the pair: to all other measures it is no hole.
    assert found["holes"] == 0
    board = sheet.boards["views"]["refined"]
    assert [row["mean"] for row in board["hole@10"]] == [0.0, 0.0]
    assert board["aspect_recall@25"][0]["mean"] == pytest.approx(0.25)


def means(garden: Any, metric: str, view: str) -> dict[str, float | None]:
    board = leaderboard_of(ScoreSheet.objects.latest("pk"), metric=metric, view=view)
    return {line.run.name: line.mean for line in board.lines}


def test_machine_gold_is_a_view_of_its_own(garden, capsys, tmp_path) -> None:
    sheet = scored(garden)
    assert set(sheet.boards["views"]) == {"base", "refined", "expert", "machine"}
    assert means(garden, "hole@10", "expert") == {"one": 0.0, "two": 0.0}
    assert means(garden, "hole@10", "machine") == {"one": pytest.approx(0.1), "two": 0.0}
    assert means(garden, "aspect_recall@25", "machine")["one"] == pytest.approx(1.0)
    assert [holes_in(sheet, view)["biology"]["holes"] for view in ("refined", "machine")] == [0, 1]
    # The same by every way to choose a view.
    reader = signed_in(make_member(garden, "reader", "reviewer"))
    asked = {"view": "machine", "metric": "hole@10"}
    call_command("leaderboard", "demo", json=True, **asked)
    by_command = json.loads(capsys.readouterr().out)
    (by_api,) = reader.get("/api/b/demo/leaderboard/", asked).json()
    assert by_command["rows"] == by_api["rows"]
    assert by_api["title"] == "hole@10, machine"
    holes = reader.get("/api/b/demo/holes/?view=machine").json()
    assert holes[0]["title"] == "hole@10, machine"
    assert holes[1]["rows"] != reader.get("/api/b/demo/holes/").json()[1]["rows"]
    assert "machine: expert, with machine gold" in reader.get("/b/demo/holes/").content.decode()
    (tmp_path / "one.run").write_text("1 Q0 near 1 2 one\n1 Q0 gold 2 1 one\n")
    call_command("score_run", str(tmp_path / "one.run"), benchmark="demo", view="machine",
                 metrics="hole@10", json=True)  # fmt: skip
    assert json.loads(capsys.readouterr().out)["metrics"]["hole@10"]["mean"] == pytest.approx(0.1)


def test_a_list_under_machine_gold_says_who_gave_it(garden) -> None:
    run, query = garden.retrieval_runs.get(name="one"), Aspect.objects.get(k=1).query
    near, _ = drill(run, query, GoldView.MACHINE, depth=10)["places"]
    assert [near[name] for name in ("label", "is_hole", "aspects", "machine")] == [
        *(1, True, (1,), "debate")
    ]
    near, _ = drill(run, query, GoldView.EXPERT, depth=10)["places"]
    assert [near[name] for name in ("label", "aspects", "machine")] == [None, (), ""]
    reader = signed_in(make_member(garden, "reader", "reviewer"))
    page = reverse("leaderboard-query", args=["demo", run.pk, query.pk])
    assert "machine gold: debate" in reader.get(f"{page}?view=machine").content.decode()


@pytest.mark.few
@pytest.mark.parametrize("why", ["refused", "several", "assigned", "excluded"])
def test_what_conflicts_is_no_machine_gold_and_the_view_is_the_experts(garden, why: str) -> None:
    first, second = Aspect.objects.order_by("k")
    near, query = Passage.objects.get(pid="near"), first.query
    given = {"label": 1, "source": "debate", "provenance": {}}
    if why == "refused":
        record_judgment(query=query, passage=near, **given | {"label": 0, "source": "expert"})
    elif why == "several":
        record_support(aspect=second, passage=near, **given)
    elif why == "assigned":
        GoldPassage.objects.create(aspect=second, query=query, passage=near)
    else:
        type(query).objects.filter(pk=query.pk).update(excluded_ids=["near"])
    scored(garden)
    for metric in ("hole@10", "aspect_recall@25", "nDCG@10"):
        assert means(garden, metric, "machine") == means(garden, metric, "expert")


def test_what_a_debate_on_aspects_found_is_an_effect_of_its_step(garden) -> None:
    support = SupportLabel.objects.get()
    SupportLabel.objects.all().delete()
    before = measured(scored(garden), {})
    support.save()
    sheet = scored(garden)
    after = measured(sheet, {})
    # Of two systems one has "near" in its first ten.
    wanted = {"nDCG@10": 0, "alpha_nDCG@25": 0, "hole@10": 0}
    wanted |= {"aspect_hole@10": 0.75 / 20, "new_aspect@10": 0.75 / 2}
    assert {name: after[name] - before[name] for name in wanted} == pytest.approx(wanted)
    own = garden.retrieval_runs.get(name="one").pk
    assert measured(sheet, {"systems": [own]})["new_aspect@10"] == pytest.approx(0.75)


@pytest.mark.slow
def test_a_sheet_tells_that_labels_of_the_practice_model_count(garden) -> None:
    admin = signed_in(make_member(garden, "boss", "admin"))
    page, words = f"/b/{garden.slug}/leaderboard/", "Labels of the practice model count"
    scored(garden)
    assert words not in admin.get(page).content.decode()
    near = Passage.objects.get(pid="near")
    query = Aspect.objects.get(k=1).query
    record_judgment(
        query=query, passage=near, label=1, source="debate", provenance={}, practice=True
    )
    assert scored(garden).boards["practice"] is True
    assert words in admin.get(page).content.decode()
    assert words not in admin.get(f"{page}?view=base").content.decode()


def test_doubtful_decisions_make_no_machine_gold_and_take_none_away(garden) -> None:
    boss = make_member(garden, "boss", "admin")
    expert = make_member(garden, "expert", "annotator")
    link = SignInLink.objects.create(user=expert, made_by=boss, expires_at=timezone.now())
    of = {"aspect": Aspect.objects.get(k=1), "passage": Passage.objects.get(pid="near")}
    record_support(**of, label=0, source="expert", provenance={}, actor=expert)

    def new() -> float:
        found: float = scored(garden).holes["biology"]["aspects"]["systems"][0]["new_aspect@10"]
        return found

    assert new() == 0
    # Who came by a link that somebody else made may not have been the expert: what agents said
    # stands as if nobody had.
    Event.objects.filter(actor=expert).update(link=link)
    assert new() == pytest.approx(0.75)
    SignInLink.objects.update(is_theirs=True)
    assert new() == 0


def test_growth_and_contribution_by_aspects_see_it_too(garden) -> None:
    found = scored(garden).holes["biology"]
    # One alone finds all: beside it the other adds nothing; the other alone holds an empty set.
    assert found["aspect_growth"] == [None, 0.0]
    # Held out, "one" moves its recall of aspects by the .75 that only it finds, "two" by none.
    assert found["marginal"]["aspect_recall@10"][0] == pytest.approx(0.75 / 2)
    assert "contribution to aspect_recall@10 of one more" in growth_table("biology", found).header


def test_the_board_names_the_thinnest_domain_and_aspects(garden) -> None:
    SupportLabel.objects.all().delete()
    systems, domains, thinnest = aspect_tables(scored(garden))
    assert [cell.value for cell in domains.rows[0]][:5] == ["biology", 2, 1, 0, 1]
    assert domains.rows[0][7].value == pytest.approx(0.75)  # the weight without any gold
    assert [row[0].value for row in thinnest.rows] == ["biology-1-a1", "biology-1-a2"]
    assert [row[5].value for row in thinnest.rows] == ["no", "yes"]
    assert len(systems.rows) == 2


def test_what_people_judge_now_counts_in_no_score(garden) -> None:
    label = SupportLabel.objects.get()
    EscalationCase.objects.create(
        origin="audit:1:1",
        kind="audit",
        query=label.aspect.query,
        passage=label.passage,
        aspect=label.aspect,
    )
    assert scored(garden).holes["biology"]["aspects"]["machine_passages"] == 0


def test_voters_read_no_board_that_holds_what_machines_said(garden) -> None:
    voter, reviewer = (make_member(garden, name, name) for name in ("annotator", "reviewer"))
    scored(garden)
    assert signed_in(voter).get("/b/demo/holes/").status_code == 403
    assert signed_in(voter).get("/api/b/demo/holes/").status_code == 403
    (board,) = signed_in(voter).get("/api/b/demo/leaderboard/?view=machine").json()
    assert board["title"] == "nDCG@10, base"
    page = signed_in(voter).get("/b/demo/leaderboard/?view=machine").content.decode()
    assert "machine gold" not in page
    page = signed_in(reviewer).get("/b/demo/holes/")
    assert "The thinnest aspects" in page.content.decode()
    tables = signed_in(reviewer).get("/api/b/demo/holes/").json()
    assert [t["name"] for t in tables][2:] == [
        "aspect-systems",
        "aspect-domains",
        "aspect-thinnest",
    ]


def test_next_labels_gain_by_chance_share_and_what_is_there(garden) -> None:
    SupportLabel.objects.all().delete()
    proposed(garden, ("near", 1), ("far", 2), ("wide", 1))
    found = [(each.entry.passage.pid, each.gain) for each in next_labels(garden, 10)]
    assert [pid for pid, _ in found] == ["near", "wide", "far"]
    # Nobody judged any: a chance of .5. The second for a1 counts what the first is likely to bring.
    expected = [0.5 * 0.75, 0.5 * 0.75 * 0.5**0.5, 0.5 * 0.25 * 0.5]
    assert [gain for _, gain in found] == pytest.approx(expected)


def test_chances_follow_from_labels_by_rank(garden) -> None:
    proposed(garden, ("near", 1), ("far", 1))
    far = PoolEntry.objects.get(passage__pid="far").passage
    first = Aspect.objects.get(k=1)
    record_support(aspect=first, passage=far, label=0, source="debate", provenance={})
    assert chances(garden)[:3] == [2 / 3, 1 / 3, 1 / 2]  # rank 1: one yes; 2 to 3: one no; none
    assert next_labels(garden) == []  # both are judged
    with pytest.raises(Refused, match="Every proposal was judged"):
        pool_next(benchmark=garden, count=5, actor=None)


def test_the_price_decides_between_equal_gains(garden, monkeypatch) -> None:
    SupportLabel.objects.all().delete()
    proposed(garden, ("near", 1), ("wide", 1))
    Passage.objects.filter(pid="near").update(text="long " * 100)
    Passage.objects.filter(pid="wide").update(text="short")
    assert [each.entry.passage.pid for each in next_labels(garden)] == ["near", "wide"]
    priced = Costs(usd_per_thousand=2.0, escalated=0.5, votes_usd=0.1)
    monkeypatch.setattr("evaluation.holes.next_labels.costs", lambda benchmark: priced)
    wide, near = next_labels(garden)
    assert (wide.entry.passage.pid, near.entry.passage.pid) == ("wide", "near")
    assert (wide.usd, near.usd) == (pytest.approx(0.06), pytest.approx(1.05))
    table = as_table([wide, near])
    assert table.rows[0][6].value == pytest.approx(0.5 * 0.75 / 0.06)
    assert table.summary == f"Together a gain of {wide.gain + near.gain:.3f} for 1.11 USD."
    assert table.notes[1] == "In the order of gain per dollar."


def test_prices_are_of_debates_that_give_labels_and_of_pay_in_dollars(garden) -> None:
    first = Aspect.objects.get(k=1)
    ordinary = make_run(garden)
    for number, (run, status, usd) in enumerate(
        (
            (ordinary, "agreed", "0.2"),
            (ordinary, "escalated", "0.2"),
            (make_run(garden, is_trial=True), "escalated", "7"),
            (make_run(garden, is_trial=True, reheard_of=ordinary), "escalated", "7"),
        )
    ):
        text = make_passage(garden, f"of{number}", text="x" * 100)
        label = 1 if status == "agreed" else None
        debate = make_debate(
            run, status, query=first.query, passage=text, aspect=first, label=label
        )
        call = Call.objects.create(
            key=f"k{number}", attempt=1, request={}, text="{}", status="answered", usd=Decimal(usd),
            created_at=timezone.now(),
        )  # fmt: skip
        make_turns(debate, 1, call=call)
    plan = VotingPlan.objects.create(
        benchmark=garden, version=1, hourly_pay=60, seconds_per_item=60, currency="USD"
    )
    found = costs(garden)
    assert found == Costs(usd_per_thousand=pytest.approx(4.0), escalated=0.5, votes_usd=3.0)
    proposed(garden, ("wide", 1))
    foreign = "Votes are paid in EUR: prices, in USD, are without them."
    assert foreign not in as_table(next_labels(garden)).notes

    VotingPlan.objects.filter(pk=plan.pk).update(currency="EUR")
    assert costs(garden).votes_usd is None
    (wide,) = next_labels(garden)
    assert wide.usd == pytest.approx(4.0 * len(wide.entry.passage.text) / 1000)
    assert as_table([wide]).notes[-1] == foreign


def test_the_practice_model_tells_no_chances(garden) -> None:
    SupportLabel.objects.all().delete()
    proposed(garden, ("near", 1))
    of = {"aspect": Aspect.objects.get(k=1), "passage": Passage.objects.get(pid="near")}
    record_support(**of, label=1, source="debate", provenance={}, practice=True)
    assert chances(garden)[0] == 0.5


@pytest.mark.slow
def test_they_become_a_pool_by_page_api_and_command(garden, capsys) -> None:
    proposed(garden, ("wide", 1), ("far", 2))
    admin = signed_in(make_member(garden, "admin", "admin"))
    assert "biology-1-a1" in admin.get("/b/demo/holes/next/").content.decode()
    assert admin.post("/b/demo/holes/next/", {"count": 0}).status_code == 422
    assert admin.post("/b/demo/holes/next/", {"count": 1}).status_code == 302
    pool = Pool.objects.first()
    assert pool is not None
    assert [(e.passage.pid, e.aspect) for e in pool.entries.all()] == [("wide", 1)]
    rows = admin.get("/api/b/demo/holes/next/?count=1").json()["rows"]
    assert rows[0][2]["value"] == "wide"
    made = admin.post("/api/b/demo/holes/next/", {"count": 2}, content_type="application/json")
    assert made.status_code == 201
    call_command("next_labels", "demo", count=1, pool="best", json=True)
    assert json.loads(capsys.readouterr().out)["pool"] == Pool.objects.get(name="best").pk
