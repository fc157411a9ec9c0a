"""Several presets as one job: one run after the other, one budget, no call twice."""

import json
from decimal import Decimal
from io import StringIO

import pytest
from django.core.management import call_command
from django.test import Client

from corpus.cleaning.services import cancel_cleaning, following, share_budget, start_cleaning
from corpus.models import Benchmark, CleaningRun, CorpusVersion
from kit.errors import Refused
from llm import endpoints
from llm.models import Account
from tests.corpus.cleaning.rooms import make_corpus
from tests.factories import make_member
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def benchmark(settings) -> Benchmark:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "http://127.0.0.1:9/v1", "sk-test"
    settings.ASSAY_MODEL = "gpt-5"
    return make_corpus()


def start(benchmark: Benchmark, *also: str, preset: str = "marcus_c", **more) -> list[CleaningRun]:
    source, endpoint = CorpusVersion.objects.current(benchmark), endpoints.available()[0]
    first = start_cleaning(
        benchmark=benchmark, source=source, preset=preset, endpoint=endpoint, actor=None,
        also=also, **more,
    )  # fmt: skip
    return [first, *following(first)]


def test_a_run_waits_until_the_one_before_it_is_over(benchmark) -> None:
    first, second, third = start(benchmark, "marcus_s", "marcus")
    admin = make_member(benchmark, "admin", "admin")
    assert list(CleaningRun.objects.calling()) == [first]
    assert not second.claim()
    assert first.claim()
    first.finish("failed", error="The key is wrong.")
    # It may be resumed, and would then pay at the same time for the same.
    assert not CleaningRun.objects.calling().exists()
    client = Client()
    client.force_login(admin)
    page = one_line(client.get(f"/b/demo/cleaning/{second.pk}/"))
    assert f'Begins when <a href="/b/demo/cleaning/{first.pk}/">{first.name}</a>' in page
    cancel_cleaning(run=first, actor=admin)
    second.refresh_from_db()
    assert second in CleaningRun.objects.calling()
    assert third not in CleaningRun.objects.calling()
    assert second.claim()


def test_a_job_has_one_budget(benchmark) -> None:
    runs = start(benchmark, "diver_rules", "marcus", budget_usd=Decimal("2.00"))
    first, rules, last = runs
    assert [run.budget_usd for run in runs] == [2, None, 2]
    # $1.234 spent and $0.20 held leave $0.566, in whole cents $0.56.
    Account.objects.filter(pk=first.account_id).update(
        spent_units=1_234 * 10**9, reserved_units=200 * 10**9
    )
    for _ in range(2):
        last.refresh_from_db()
        share_budget(last)
    last.refresh_from_db()
    assert last.budget_usd == Decimal("0.56")
    assert last.account.limit_usd == Decimal("0.56")
    share_budget(rules)
    assert rules.budget_usd is None


@pytest.mark.slow
def test_a_job_is_started_on_the_screen_by_the_api_and_by_the_command(benchmark, settings) -> None:
    client = Client()
    client.force_login(make_member(benchmark, "admin", "admin"))
    source = CorpusVersion.objects.current(benchmark).pk
    sent = {"source": source, "preset": "diver_rules", "policy": "repair", "name": "job"}
    also = {"also": ["dchunk", "diver_rules"], "embedder": "lsa"}
    assert client.post("/b/demo/cleaning/new/", sent | also).status_code == 302
    first, second = CleaningRun.objects.order_by("pk")
    assert (second.follows, second.name, second.preset) == (first, "job, dchunk", "dchunk")
    wrong = client.post("/b/demo/cleaning/new/", sent | {"name": "x", "also": ["polish"]})
    assert wrong.status_code == 422
    given = {"source": source, "preset": "diver_rules", "also": ["marcus_s"], "name": "other"}
    given["endpoint"] = "default"
    made = client.post("/api/b/demo/cleanings/", given, content_type="application/json").json()
    follower = CleaningRun.objects.get(follows=made["id"])
    data = client.get(f"/api/b/demo/cleanings/{follower.pk}/").json()
    assert (data["follows"], data["preset"], made["follows"]) == (made["id"], "marcus_s", None)
    settings.OPENAI_BASE_URL = settings.OPENAI_API_KEY = ""
    out = StringIO()
    options = ["--preset=marcus_c", "--also=marcus", "--name=shell", "--json"]
    call_command("clean_corpus", "demo", *options, stdout=out)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert [(each["name"], each["status"]) for each in lines] == [
        ("shell", "done"),
        ("shell, marcus", "done"),
    ]


def test_a_job_is_refused_as_a_whole(benchmark) -> None:
    start(benchmark, preset="diver_rules", name="a, marcus")
    with pytest.raises(Refused, match="named 'a, marcus' already"):
        start(benchmark, "marcus", preset="diver_rules", name="a")
    assert CleaningRun.objects.count() == 1
