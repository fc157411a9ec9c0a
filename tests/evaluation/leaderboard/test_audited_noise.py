"""Label noise by what blind audits found, and the places that it could swap."""

import json
from typing import Any

import numpy as np
import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotate.models import Aspect, EscalationCase
from annotate.support.services import record_support
from corpus.judgments.services import record_judgment
from corpus.models import Passage, Query, Source
from debate.audits.services import draw_sample
from debate.models import Debate
from evaluation.leaderboard import noise
from evaluation.leaderboard.audited import (
    Group,
    Rate,
    drawn_truth,
    from_rows,
    group_of,
    numbers_of,
    rate_for,
    rates_of,
)
from evaluation.metrics.gold import Gold
from evaluation.models import NoiseCheck
from evaluation.scores import sheets
from evaluation.scores.services import GoldView
from kit.errors import Refused
from tests.debate.runs.test_screens import make_debate, make_run
from tests.factories import make_gold, make_member, make_passage, make_query, make_ranking

pytestmark = pytest.mark.django_db
REFINED, MACHINE = str(GoldView.REFINED), str(GoldView.MACHINE)


@pytest.fixture
def admin(garden) -> Client:
    client = Client()
    client.force_login(make_member(garden.benchmark, "root", "admin"))
    return client


def labelled(
    query: Query, pid: str, label: int, run: Any, round: int = 1, **provenance: Any
) -> None:
    """A pair with the standing label of a debate."""
    benchmark = query.domain.benchmark
    passage = make_passage(benchmark, pid, query.domain.name)
    judgment = record_judgment(
        query=query,
        passage=passage,
        label=label,
        source=Source.DEBATE,
        round=round,
        provenance=provenance,
    )
    make_debate(
        run,
        "agreed",
        query=query,
        passage=passage,
        label=label,
        round=round,
        judgment=judgment,
    )


def decided(run: Any, wrong: int) -> None:
    """Audit all that is left of a run; people find so many of the labels 1 wrong."""
    sample = draw_sample(run=run, size=1000, seed=1, actor=None)
    for item in sample.items.order_by("-label", "pk"):
        label = 1 - item.label if wrong > 0 and item.label else item.label
        wrong -= item.label
        EscalationCase.objects.filter(pk=item.case_id).update(status="closed", label=label)
        pair = {"query": item.debate.query, "passage": item.debate.passage}
        record_judgment(**pair, label=label, source=Source.HUMAN, provenance={})


@pytest.fixture
def place(garden) -> Any:
    """In biology one query with original gold g; twelve agreed pairs of another are audited, and
    three of those called relevant were wrong."""
    run = make_run(garden.benchmark, status="done")
    query = make_query(garden.benchmark, "audited", "biology")
    for number in range(12):
        labelled(query, f"r{number}", 1, run)
    decided(run, wrong=3)
    return garden


def test_rates_are_by_source_round_and_sureness_and_never_of_trials(place) -> None:
    found = {each.group: (each.n, each.wrong) for each in rates_of(place.benchmark, REFINED)}
    assert found == {Group("debate", True, 1): (12, 3), Group("debate", True): (12, 3)}
    trial = make_run(place.benchmark, status="done", is_trial=True)
    labelled(make_query(place.benchmark, "trial", "biology"), "t", 1, trial)
    decided(trial, wrong=1)
    assert {
        each.group: (each.n, each.wrong) for each in rates_of(place.benchmark, REFINED)
    } == found


@pytest.mark.parametrize(
    ("provenance", "sureness"),
    [
        ({"probability": 0.05}, "sure"),
        ({"probability": 0.8}, "fairly sure"),
        ({"probability": 0.5}, "unsure"),
        ({"scores": [3.0]}, "grade 3"),
        ({"share": 2 / 3}, "67% of votes"),
        ({}, ""),
    ],
)
def test_how_sure_a_label_is(provenance, sureness) -> None:
    assert group_of(1, "lara", None, provenance) == Group("lara", True, 0, sureness)


def test_a_group_with_few_audits_is_judged_with_those_around_it() -> None:
    fine, by_round, whole = Group("lara", True, 2, "sure"), Group("lara", True, 2), None
    whole = Group("lara", True)
    rates = {each: Rate(each, n, 1) for each, n in ((fine, 9), (by_round, 10), (whole, 40))}
    assert rate_for(fine, rates) == rates[by_round]
    assert rate_for(fine._replace(round=3), rates) == rates[whole]
    assert rate_for(whole, {whole: Rate(whole, 2, 1)}) == Rate(whole, 2, 1)
    assert rate_for(Group("lara", False), rates) is None


def test_a_rate_covers_what_a_machine_said_and_the_original_gold_does_not(place) -> None:
    run = make_run(place.benchmark, status="done")
    query = make_query(place.benchmark, "covered", "biology")
    for pid, label in (("hole", 1), ("also", 1), ("never", 0), ("people", 1)):
        labelled(query, pid, label, run)
    gold = make_passage(place.benchmark, "also-gold", "biology")
    make_gold(query, gold)
    record_judgment(
        query=query,
        passage=run.debates.get(passage__pid="people").passage,
        label=1,
        source=Source.HUMAN,
        provenance={},
    )
    make_gold(query, run.debates.get(passage__pid="also").passage)
    labels = {"covered": {"hole": 1, "also": 1, "never": 0, "people": 1, "also-gold": 1}}
    found = Gold.of(labels, base={"covered": {"also": 1, "also-gold": 1}})
    rates = {each.group: each for each in rates_of(place.benchmark, REFINED)}
    number = numbers_of(found, query.domain, REFINED, rates)
    group = list(rates)[number[0]]
    # Two rates: no audit covers labels of 0; the others are gold or people's.
    assert group == Group("debate", True, 1)
    assert number.tolist()[1:] == [-1, -1, -1, -1]


def test_each_draw_draws_the_rate_too() -> None:
    rates = [Rate(Group("debate", True), 12, 3), Rate(Group("debate", False), 400, 0)]
    labels, numbers = [np.array([1, 1, 0, 0])], [np.array([0, -1, 1, -1])]
    truth = drawn_truth(labels, numbers, rates, if_relevant=0.75, if_not=0.25)
    rng = np.random.default_rng(4)
    drawn = np.array([truth(rng)[0] for _ in range(4000)])
    assert drawn[:, 1].tolist() == [0.75] * 4000
    assert drawn[:, 3].tolist() == [0.25] * 4000
    # Beta(3.5, 9.5) has mean 3.5 / 13 and variance 3.5 * 9.5 / (13^2 * 14).
    assert 1 - drawn[:, 0].mean() == pytest.approx(3.5 / 13, abs=0.01)
    assert drawn[:, 0].var() == pytest.approx(3.5 * 9.5 / (13**2 * 14), rel=0.1)
    assert drawn[:, 2].mean() == pytest.approx(0.5 / 401, abs=0.001)
    kept = from_rows([{**rates[0].group._asdict(), "n": 12, "wrong": 3}])
    assert kept == {rates[0].group: rates[0]}


def two_systems(garden: Any) -> Any:
    """One puts the original gold first, the other a hole that a debate found."""
    run = make_run(garden.benchmark, status="done")
    query = make_query(garden.benchmark, "asked", "biology")
    labelled(query, "new", 1, run)
    old = make_passage(garden.benchmark, "old", "biology")
    make_gold(query, old)
    make_ranking(query, "new", "x", "old", name="finder")
    make_ranking(query, "old", "x", "y", name="keeper")
    return query


def checked(benchmark: Any, **options: Any) -> NoiseCheck:
    asked = {"metric": "recall@10", "view": REFINED, "draws": 200} | options
    made = noise.request_check(benchmark=benchmark, actor=None, claimed=True, **asked)
    noise.carry_out(made)
    made.refresh_from_db()
    return made


@pytest.mark.slow
def test_audited_errors_go_into_ranks_and_the_board_marks_what_they_swap(place, admin) -> None:
    two_systems(place)
    sheet = sheets.request_sheet(benchmark=place.benchmark, actor=None, claimed=True)
    sheets.carry_out(sheet)
    board = "/b/garden/leaderboard/?metric=recall@10"
    assert "⇅" not in admin.get(board).content.decode()
    check = checked(place.benchmark, by_audits=True)
    assert check.status == "done"
    # The hole that the finder found, and the one of the garden; people decided the audited ones.
    assert (check.covered, len(check.rates)) == (2, 2)
    by_name = {row["name"]: (row["rank"], row["low"], row["high"]) for row in check.result}
    # Without the hole both have one of one: they share the first place.
    assert by_name == {"finder": (1, 1, 1), "keeper": (2, 1, 2)}
    page = admin.get(board).content.decode()
    assert page.count("⇅") == 2  # one system, and what the mark means
    assert "⇅ 1 to 2" in " ".join(page.split())
    csv = b"".join(admin.get(board.replace("?", "runs.csv?")).streaming_content)
    assert csv.decode().splitlines()[0].endswith("rank under label noise high")
    (table,) = admin.get("/api/b/garden/leaderboard/?metric=recall@10").json()
    keeper = next(row for row in table["rows"] if row[1]["value"] == "keeper")
    assert (keeper[-1]["low"], keeper[-1]["high"]) == (1, 2)
    shown = admin.get(f"/b/garden/leaderboard/noise/{check.pk}/").content.decode()
    assert "How often labels are wrong" in shown
    assert "refined, by audits" in admin.get("/b/garden/leaderboard/noise/").content.decode()
    # Labels that audits are sure of swap nothing.
    assert checked(place.benchmark, if_relevant=1.0, if_not=0.0).covered == 0
    assert "⇅ 1 to 2" not in " ".join(admin.get(board).content.decode().split())


def test_the_command_asks_for_a_check_and_prints_its_marks(place, capsys) -> None:
    two_systems(place)
    asked = {"metric": "recall@10"}
    with pytest.raises(CommandError, match="Give --if-not, or take the shares"):
        call_command("leaderboard", "garden", noise=True, if_relevant=0.9, **asked)
    call_command("leaderboard", "garden", **asked)
    assert "⇅" not in capsys.readouterr().out
    call_command("leaderboard", "garden", noise=True, by_audits=True, **asked)
    out = capsys.readouterr().out
    (keeper,) = [line for line in out.splitlines() if "keeper" in line]
    assert keeper.endswith("⇅ 1 to 2")
    assert out.endswith("⇅ places that label noise could swap\n")
    check = NoiseCheck.objects.get()
    assert (check.status, len(check.rates)) == ("done", 2)
    # The check is the last of this board: it is read without being asked for.
    call_command("leaderboard", "garden", json=True, **asked)
    table = json.loads(capsys.readouterr().out)
    assert table["header"][-1] == "rank under label noise"
    (row,) = [row for row in table["rows"] if row[1]["value"] == "keeper"]
    assert (row[-1]["low"], row[-1]["high"]) == (1, 2)


def supports(aspect: Aspect, pid: str, run: Any) -> Debate:
    """A debate that says a passage supports an aspect."""
    query = aspect.query
    passage = make_passage(query.domain.benchmark, pid, query.domain.name)
    label = record_support(
        aspect=aspect, passage=passage, label=1, source=Source.DEBATE, round=1,
        provenance={"run": run.pk},
    )  # fmt: skip
    return make_debate(run, "agreed", query=query, passage=passage, aspect=aspect, label=1,
                       round=1, support=label)  # fmt: skip


def test_machine_gold_is_as_often_wrong_as_audits_of_aspects_found(place) -> None:
    # Twelve passages that a debate gives to an aspect are audited, and six of them wrong.
    run = make_run(place.benchmark, status="done")
    query = make_query(place.benchmark, "aspects", "biology")
    aspect = Aspect.objects.create(query=query, k=1, content="Of wax.", weight=1)
    audited = [supports(aspect, f"s{number}", run) for number in range(12)]
    sample = draw_sample(run=run, size=12, seed=1, actor=None)
    for number, item in enumerate(sample.items.order_by("pk")):
        label = int(number >= 6)
        EscalationCase.objects.filter(pk=item.case_id).update(status="closed", label=label)
        record_support(aspect=aspect, passage=item.debate.passage, label=label,
                       source=Source.HUMAN, provenance={})  # fmt: skip
    assert sample.items.count() == len(audited)
    group = Group("debate, aspect", True, 1)
    found = {each.group: (each.n, each.wrong) for each in rates_of(place.benchmark, MACHINE)}
    assert found[group] == found[Group("debate, aspect", True)] == (12, 6)
    assert group not in {each.group for each in rates_of(place.benchmark, REFINED)}
    # Of another query one passage is machine gold, and one the gold of the import.
    query = make_query(place.benchmark, "asked", "biology")
    other = Aspect.objects.create(query=query, k=1, content="Of light.", weight=1)
    supports(other, "new", run)
    make_gold(query, make_passage(place.benchmark, "old", "biology"))
    make_ranking(query, "new", "old", name="finder")
    make_ranking(query, "old", "x", "y", name="keeper")
    # With "new" the finder has two of two and the keeper one; without it both have one of one, in
    # about half of the draws.
    check = checked(place.benchmark, view=MACHINE, by_audits=True)
    by_name = {row["name"]: (row["rank"], row["low"], row["high"]) for row in check.result}
    assert by_name == {"finder": (1, 1, 1), "keeper": (2, 1, 2)}
    # A label that the pair has of a debate, too, is as often wrong as those are.
    gold = Gold.of({"asked": {"new": 1, "old": 1}}, base={"asked": {"old": 1}})
    rates = {each.group: each for each in rates_of(place.benchmark, MACHINE)}
    groups = list(rates)
    number = numbers_of(gold, query.domain, MACHINE, rates).tolist()
    assert (groups[number[0]], number[1]) == (group, -1)
    record_judgment(query=query, passage=Passage.objects.get(pid="new"), label=1, round=1,
                    source=Source.DEBATE, provenance={})  # fmt: skip
    number = numbers_of(gold, query.domain, MACHINE, rates).tolist()
    assert (groups[number[0]], number[1]) == (Group("debate", True, 1), -1)
    assert numbers_of(gold, query.domain, REFINED, rates).tolist() == number


def test_noise_by_audits_needs_one(garden, admin) -> None:
    with pytest.raises(Refused) as refusal:
        checked(garden.benchmark, by_audits=True)
    assert refusal.value.field == "by_audits"
    api = "/api/b/garden/leaderboard/noise/"
    missing = admin.post(api, {"metric": "recall@10", "view": "base"}, "application/json")
    assert missing.status_code == 400
    assert "if_relevant" in missing.json()
    form = {"metric": "recall@10", "view": "base", "draws": 20, "if_not": ".1"}
    page = admin.post("/b/garden/leaderboard/noise/", form)
    assert page.status_code == 422
    assert "or take those of audits" in page.content.decode()


def test_a_check_of_other_labels_or_systems_marks_nothing(place, admin) -> None:
    query = two_systems(place)

    def page() -> str:
        sheet = sheets.request_sheet(benchmark=place.benchmark, actor=None, claimed=True)
        sheets.carry_out(sheet)
        return admin.get("/b/garden/leaderboard/?metric=recall@10").content.decode()

    checked(place.benchmark, by_audits=True)
    assert "⇅" in page()
    passage = make_passage(place.benchmark, "later", "biology")
    given = {"round": 1, "provenance": {}}
    record_judgment(query=query, passage=passage, label=1, source=Source.DEBATE, **given)
    assert "⇅" not in page()
    checked(place.benchmark, by_audits=True)
    assert "⇅" in page()
    make_ranking(query, "later", name="newcomer")
    assert "⇅" not in page()


def test_voters_see_no_mark(place) -> None:
    two_systems(place)
    sheet = sheets.request_sheet(benchmark=place.benchmark, actor=None, claimed=True)
    sheets.carry_out(sheet)
    checked(place.benchmark, by_audits=True)
    client = Client()
    client.force_login(make_member(place.benchmark, "judge", "annotator"))
    page = client.get("/b/garden/leaderboard/?metric=recall@10").content.decode()
    assert "⇅" not in page
