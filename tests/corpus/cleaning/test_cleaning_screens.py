"""The screens of versions and cleanings, the API beside them, and the command."""

import json
from io import StringIO

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command
from django.test import Client

from corpus.cleaning.tasks import clean_corpus
from corpus.models import CleaningRun, CorpusVersion, Passage
from llm import endpoints
from llm.models import Call
from tests.corpus.cleaning.rooms import clean, make_corpus
from tests.factories import make_member
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def benchmark():
    cache.clear()
    return make_corpus()


@pytest.fixture
def client(benchmark) -> Client:
    made = Client()
    made.force_login(make_member(benchmark, "admin", "admin"))
    return made


@pytest.fixture
def run(benchmark) -> CleaningRun:
    with endpoints.practice_if_unconfigured() as endpoint:
        return clean(benchmark, endpoint)


def text(client: Client, url: str, **more: object) -> str:
    response = client.get(url, **more)
    assert response.status_code == 200, url
    return one_line(response)


def test_versions_stand_below_their_parents(client, run) -> None:
    page = text(client, "/b/demo/versions/")
    assert page.index("as loaded</a>") < page.index("└") < page.index(f"{run.name}</a>")
    assert "current</span>" in page
    assert "practice model" in page


def test_a_version_lists_its_passages_beside_their_origin(client, run) -> None:
    page = text(client, f"/b/demo/versions/{run.version_id}/?q=garden")
    assert "garden/ferns.txt#g1A" in page
    assert "garden/ferns_0.txt" in page
    assert "menu/page" not in page
    found = text(client, f"/b/demo/passages/?version={run.version_id}")
    assert "garden/ferns.txt#g1A" in found


def test_a_passage_is_shown_beside_what_it_came_from(client, run) -> None:
    passage = Passage.objects.get(version=run.version, pid="garden/ferns.txt#g1A")
    page = text(client, f"/b/demo/versions/{run.version_id}/passages/{passage.pk}/")
    assert "<del>Jump to content</del>" in page
    url = f"/api/b/demo/versions/{run.version_id}/passages/{passage.pk}/"
    data = client.get(url).json()
    assert data["before"][0] == {"kind": "gone", "text": "Jump to content"}
    assert data["origins"][0]["pid"] == "garden/ferns_0.txt"


def test_a_run_is_set_up_on_the_screen_with_its_forecast(client, benchmark) -> None:
    source = CorpusVersion.objects.current(benchmark)
    assert "Start cleaning" in text(client, "/b/demo/cleaning/new/")
    part = text(client, "/b/demo/cleaning/forecast/?preset=marcus_s", HTTP_HX_REQUEST="true")
    assert "Tokens in" in part
    assert "Nothing is known of what a cleaning gains on this benchmark" in part
    wrong = {"source": source.pk, "preset": "marcus", "policy": "repair"}
    wrong |= {"reasoning_effort": "much"}
    assert client.post("/b/demo/cleaning/new/", wrong).status_code == 422
    sent = {"source": source.pk, "preset": "diver_rules", "policy": "repair", "name": "tidy"}
    assert client.post("/b/demo/cleaning/new/", sent).status_code == 302
    made = CleaningRun.objects.get()
    assert (made.name, made.status, made.preset) == ("tidy", "queued", "diver_rules")
    again = client.post("/b/demo/cleaning/new/", sent | {"preset": "marcus"})
    assert again.status_code == 422
    here = f"/b/demo/cleaning/{made.pk}/"
    assert "Waiting to begin" in text(client, here)
    client.post(here + "cancel/")
    clean_corpus(made.pk)
    made.refresh_from_db()
    assert (made.status, made.version) == ("cancelled", None)


def test_how_texts_are_cut_is_set_on_the_screen_and_in_the_command(client, benchmark) -> None:
    page = text(client, "/b/demo/cleaning/new/")
    for words in ("vectors of sentences from", "latent semantic analysis", 'value="0.5"'):
        assert words in page
    source = CorpusVersion.objects.current(benchmark)
    sent = {"source": source.pk, "preset": "dchunk", "policy": "repair", "name": "cut"}
    wrong = client.post("/b/demo/cleaning/new/", sent | {"overlap": "2"})
    assert wrong.status_code == 422
    chosen = {"embedder": "lsa", "threshold": 0.2, "most": 64, "overlap": 0.0, "long_from": 99}
    assert client.post("/b/demo/cleaning/new/", sent | chosen).status_code == 302
    recipe = CleaningRun.objects.get(name="cut").version.recipe
    assert {name: recipe[name] for name in chosen} == chosen
    given = [f"--option={name}={value}" for name, value in chosen.items()]
    call_command("clean_corpus", "demo", "--preset=dchunk", "--name=b", *given, stdout=StringIO())
    recipe = CleaningRun.objects.get(name="b").version.recipe
    assert {name: recipe[name] for name in chosen} == chosen


@pytest.mark.slow
def test_the_forecast_is_in_prices_of_the_model_that_is_named(client, settings) -> None:
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "http://127.0.0.1:9/v1", "sk-test"
    settings.ASSAY_MODEL = "gpt-5"
    url = "/api/b/demo/cleaning-forecast/?preset=marcus_s"
    own, small, unknown = (
        client.get(url + model).json()["usd"]
        for model in ("", "&model=gpt-5-mini", "&model=nobody-knows")
    )
    assert float(own) == pytest.approx(5 * float(small), rel=0.01)
    assert unknown is None
    part = text(client, "/b/demo/cleaning/forecast/?model=nobody-knows", HTTP_HX_REQUEST="true")
    assert "No price is known" in part


def test_the_report_counts_draws_and_downloads(client, run) -> None:
    page = text(client, f"/b/demo/cleaning/{run.pk}/report/")
    for words in ("Passages by domain", "Lengths of passages", "<svg", "Tokens and cost by agent"):
        assert words in page
    assert "All labels were carried." in page
    rows = b"".join(
        client.get(f"/b/demo/cleaning/{run.pk}/report/retention.csv").streaming_content
    ).decode()
    assert rows.splitlines()[1] == "biology,6,7,116.67"
    assert client.get(f"/b/demo/cleaning/{run.pk}/report/other.csv").status_code == 404
    names = [each["name"] for each in client.get(f"/api/b/demo/cleanings/{run.pk}/report/").json()]
    assert names[:3] == ["retention", "lengths", "similarity"]
    assert {"agents", "violations", "near-duplicates", "not-carried"} <= set(names)


def test_the_api_starts_pauses_and_tells_labels(client, benchmark, run) -> None:
    source = CorpusVersion.objects.current(benchmark)
    sent = {"source": source.pk, "preset": "diver_rules", "options": {"long_from": 8}}
    made = client.post("/api/b/demo/cleanings/", sent, content_type="application/json")
    assert made.status_code == 202
    here = f"/api/b/demo/cleanings/{made.json()['id']}/"
    assert client.post(here + "pause/").json()["status"] == "paused"
    assert client.post(here + "resume/").json()["status"] == "queued"
    assert client.post(here + "polish/").status_code == 404
    wrong = client.post(
        "/api/b/demo/cleanings/",
        sent | {"options": {"colour": 1}},
        content_type="application/json",
    )
    assert (wrong.status_code, wrong.json()["field"]) == (409, "options")
    labels = client.get(f"/api/b/demo/versions/{run.version_id}/labels/").json()
    assert len(labels["labels"]) == 6
    assert labels["lost"] == []
    assert client.get("/api/b/demo/cleaning-forecast/").json()["preset"] == "marcus"


@pytest.mark.slow
def test_the_command_cleans_forecasts_and_refuses(benchmark) -> None:
    out = StringIO()
    call_command("clean_corpus", "demo", "--json", stdout=out)
    summary = json.loads(out.getvalue())
    assert (summary["status"], summary["preset"]) == ("done", "marcus")
    assert summary["figures"]["passages"] == 7
    out = StringIO()
    call_command("clean_corpus", "demo", "--forecast", stdout=out)
    assert "Advised: nothing. Nothing is known" in out.getvalue()
    # The run above asked for all of it.
    paid = Call.objects.answered().count()
    shown = {" ".join(line.split()) for line in out.getvalue().split("\n")}
    assert {"calls 0", f"answered {paid}"} <= shown
    call_command(
        "clean_corpus", "demo", "--preset", "dchunk", "--option", "long_from=8", stdout=out
    )
    for arguments in (["nowhere"], ["demo", "--option", "x=1"], ["demo", "--source", "none"]):
        with pytest.raises(CommandError):
            call_command("clean_corpus", *arguments)
