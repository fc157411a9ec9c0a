"""Who read what is hidden from voters: one event a person, material and day."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from corpus.hidden import HIDDEN, READ
from evaluation.scores.reading import last_event
from kit.account.links import has_decided
from kit.audit import record_once
from kit.models import Event
from tests.factories import make_token
from tests.markup import one_line
from tests.routes.rows import Row
from tests.routes.world import address, make_everything
from tests.test_routes import ROWS

pytestmark = pytest.mark.django_db
LOOKS = {name: row for name, row in ROWS if row.method == "get"}
MATERIAL = {route: name for name, routes in HIDDEN.items() for route in routes}
# Of what admins and reviewers read and annotators do not, the rest: figures over many, forms,
# texts, people, money, and work that somebody was given.
_REST = """
adjudication-next agent-board agent-board-csv agent-calibration agent-calibration-csv agent-forecast
agent-items agent-run agent-run-new agent-runs agreement agreement-of agreement-table
answer-forecast answer-items answer-pair answer-pair-next answer-rate answer-run answer-run-new
answer-runs archive assignment assignments call-totals call-totals-csv calls calls-csv chain
chain-csv chain-effects chain-new chains checklist cleaning cleaning-forecast cleaning-new
cleaning-pages cleaning-report cleaning-rows cleaning-table cleaning-violation
cleaning-violation-next cleaning-violations cleanings comparison comparison-report comparison-table
comparisons debate-run debate-run-adoption debate-run-forecast debate-run-new debate-run-rehearing
debate-run-report debate-run-room debate-run-spending debate-run-table debate-runs endpoints
expansion expansion-forecast expansion-items expansion-new expansion-query expansions experiment
experiment-csv experiments grade-run grade-runs hint-run hint-runs holes-next import import-folder
import-run imports invited judge-report judge-run judge-runs judge-samples judge-table judges
judges-table label-checks noise-check noise-checks panel panel-hints panel-new panel-table people
person pipeline pipeline-forecast pipeline-grid pipeline-means pipeline-new pipelines
pipelines-csv pool
pool-build pool-builds pool-new pool-pairs pools progress progress-csv prompts push
qualification-people qualification-rule qualification-rules query-source query-sources
query-wordings quotas rag-board rag-board-csv rag-forecast rag-grade rag-grade-forecast rag-run
rag-run-new rag-runs rag-samples release release-changelog release-pushes releases rerank-forecast
rerank-means rerank-means-csv rerank-run
rerank-run-new rerank-runs rescoring run-computation run-computations run-priority short-answers
spending spot-checks support-forecast support-new support-report support-run support-runs
support-samples support-set support-sets support-table training-forecast training-run
training-run-new training-runs transfer-people version version-passage version-search
version-take-up version-work versions voting voting-arms voting-pay voting-plan webhook webhooks
wordings
"""


@pytest.fixture(scope="module")
def world(tmp_path_factory, undone_database: None) -> SimpleNamespace:
    return make_everything(tmp_path_factory.mktemp("release"))


def look(world: SimpleNamespace, role: str, name: str, row: Row) -> int:
    client = Client(raise_request_exception=False)
    client.force_login(world.people[role])
    return client.get(address(name, row, world)).status_code


def reads() -> list[tuple[str, str, Any]]:
    found = Event.objects.filter(verb=READ).order_by("pk")
    return list(found.values_list("actor__username", "data__material", "scope"))


def test_what_annotators_cannot_read_is_hidden_or_known_to_hold_nothing() -> None:
    """A new route that is for admins or reviewers belongs into one of the two lists."""
    for_others = {
        name
        for name, row in LOOKS.items()
        if {"admin", "reviewer"} & {*row.allowed, *(k for k, v in row.special.items() if v == 200)}
        and "annotator" not in row.allowed
        and row.special.get("annotator") not in (200, 302)
    }
    rest = {name.removeprefix("api-") for name in for_others - set(MATERIAL)}
    assert rest == set(_REST.split())
    assert set(MATERIAL) <= set(LOOKS)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(MATERIAL))
def test_a_read_is_one_event_of_who_may_and_none_of_others(name: str, world) -> None:
    row = LOOKS[name]
    let_in = [role for role in ("admin", "reviewer") if role in row.allowed]
    for role in ("annotator", "outsider", "stranger"):
        look(world, role, name, row)
    assert reads() == []
    for role in let_in:
        for _ in range(2):
            assert look(world, role, name, row) == row.status
            cache.clear()  # as another process
    is_shown = row.status == 200  # in this world there is none of some
    assert reads() == [(role, MATERIAL[name], "demo") for role in let_in if is_shown]


def test_another_run_another_day_and_another_material_are_other_reads(world) -> None:
    admin, today = world.people["admin"], timezone.now().date()
    for day in (today - timedelta(days=1), today, today):
        for data in ({"material": "debates", "of": "1"}, {"material": "debates", "of": "2"}):
            record_once(
                actor=admin, verb=READ, target=world.query.domain.benchmark, scope="demo",
                data=data, day=day,
            )  # fmt: skip
    assert len(reads()) == 4
    look(world, "admin", "debates", LOOKS["debates"])  # of run 1 or another, today
    look(world, "admin", "exam-bank", LOOKS["exam-bank"])
    assert ("admin", "exam keys", "demo") in reads()


def test_a_read_by_a_token_is_recorded_and_what_a_token_may_not_is_not(world) -> None:
    for role in ("admin", "annotator"):
        key = make_token(world.people[role])
        script = Client(headers={"Authorization": f"Token {key}"})
        script.get(reverse("api-exam-bank", args=["demo"]))
    assert reads() == [("admin", "exam keys", "demo")]


def test_a_read_is_no_decision_and_no_change(world) -> None:
    """It asks for no second admin, makes no score old, and is nobody's activity."""
    benchmark = world.query.domain.benchmark
    Event.objects.filter(actor=world.people["admin"])._raw_delete("default")
    before = last_event(benchmark)
    look(world, "admin", "exam-bank", LOOKS["exam-bank"])
    assert len(reads()) == 1
    assert last_event(benchmark) == before
    assert not has_decided(world.people["admin"])
    client = Client()
    client.force_login(world.people["admin"])
    assert READ not in one_line(client.get(reverse("benchmark", args=["demo"])))


def test_reads_stand_in_the_record_in_the_api_and_in_the_chained_file(world, tmp_path) -> None:
    look(world, "reviewer", "debate", LOOKS["debate"])
    admin = Client()
    admin.force_login(world.people["admin"])
    page = admin.get(reverse("record", args=["demo"]), {"about": "reads"})
    [event] = page.context["table"].rows
    assert (event.actor.username, event.data) == (
        "reviewer",
        {"material": "debates", "of": str(world.run.pk)},
    )
    assert "Reads of hidden material" in one_line(page)
    assert READ not in one_line(admin.get(reverse("record", args=["demo"]), {"about": "settings"}))
    listed = admin.get(reverse("api-events", args=["demo"]), {"about": "reads"}).json()["results"]
    # Who reads the record reads votes, and stands in it.
    assert [(each["actor"], each["data"]["material"]) for each in listed] == [
        ("admin", "the record"),
        ("reviewer", "debates"),
    ]
    kept = tmp_path / "events.jsonl"
    file = admin.get(reverse("record-file", args=["demo"]))
    kept.write_bytes(b"".join(file.streaming_content))
    assert kept.read_text().count(READ) == 2
    call_command("verify_events", str(kept))
    kept.write_text(kept.read_text().replace('"debates"', '"nothing"'))
    with pytest.raises(CommandError):
        call_command("verify_events", str(kept))


@pytest.mark.skipif(connection.vendor != "sqlite", reason="a pragma of SQLite")
def test_what_cannot_be_recorded_is_not_shown(world) -> None:
    admin, url = Client(raise_request_exception=False), reverse("exam-bank", args=["demo"])
    admin.force_login(world.people["admin"])
    connection.connection.execute("PRAGMA query_only = ON")
    try:
        refused = admin.get(url)
    finally:
        connection.connection.execute("PRAGMA query_only = OFF")
    transaction.set_rollback(False)  # nothing was written; a request has no transaction around it
    assert refused.status_code == 503
    assert reads() == []
    assert admin.get(url).status_code == 200
    assert len(reads()) == 1
