"""The models of roles are what forms begin with, and what is asked where nobody names another."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from corpus.access import enter
from corpus.cleaning.forms import CleaningForm
from corpus.cleaning.services import choose_models, start_cleaning
from corpus.computing.config import freeze
from corpus.computing.forms import ComputeForm
from corpus.models import CorpusVersion
from debate.answers.views import RunForm as AnswerForm
from debate.hints.views import HintForm
from debate.models import AnswerRun
from debate.runs.configuration import ModelChoice, RunConfig
from debate.runs.forms import RunForm
from debate.runs.planning import plan_run
from debate.runs.presets import PRESETS
from debate.runs.services import start_run
from evaluation.holes.views import HoleDebateForm
from llm import endpoints
from tests.annotate.answering import make_room
from tests.annotate.world import signed_in
from tests.corpus.cleaning.rooms import make_corpus
from tests.factories import make_benchmark, make_member, make_passage, make_pool, make_query

pytestmark = pytest.mark.django_db
ROLES = {
    "agents": "two/debater",
    "judge": "two/judge",
    "adjudicator": "one/ruler",
    "cleaner": "two/cleaner",
    "splitter": "one/cutter",
    "answerer": "two/writer",
    "embedder": "two/vectors",
}
PLACE = 'base_url = "http://127.0.0.1:9/v1"'
ENTRY = f'[[endpoints]]\nname = "{{0}}"\n{PLACE}\ndefault_model = "own-{{0}}"\n'


@pytest.fixture(autouse=True)
def _endpoints(settings, tmp_path: Path) -> None:
    file = tmp_path / "endpoints.toml"
    file.write_text(ENTRY.format("one") + ENTRY.format("two"))
    settings.ASSAY_ENDPOINTS, settings.ASSAY_MODEL_OF_ROLE = str(file), ROLES


@pytest.fixture
def pool() -> Any:
    benchmark = make_benchmark()
    return make_pool(benchmark, (make_query(benchmark), make_passage(benchmark)))


def first(form: Any, field: str = "endpoint") -> str:
    """What a form's choice stands at."""
    return form.fields[field].choices[0][1]


def plan(pool: Any, **options: Any) -> RunConfig:
    endpoint = endpoints.get(options.pop("endpoint", "two"))
    return plan_run(benchmark=pool.benchmark, pool=pool, endpoint=endpoint, **options).config


@pytest.mark.parametrize(
    ("kind", "stands"), [("debate", "two (debater)"), ("llmjudge", "two (judge)")]
)
def test_a_run_begins_with_the_models_of_its_kind(kind: str, stands: str, pool) -> None:
    form = RunForm(benchmark=pool.benchmark, initial={"kind": kind})
    assert first(form) == stands
    if kind == "debate":
        assert first(form, "adjudicator_endpoint") == "one (ruler)"


def test_the_page_of_a_new_run_shows_them(pool) -> None:
    client = Client()
    client.force_login(make_member(pool.benchmark, "admin", "admin"))
    page = client.get("/b/demo/debates/new/?preset=rounds-2%2Badjudicator").content.decode()
    assert "two (debater)" in page
    assert 'value="ruler"' in page


def test_a_run_asks_the_models_of_its_kind(pool) -> None:
    assert {seat.model for seat in plan(pool).agents} == {"debater"}
    assert [seat.model for seat in plan(pool, settings={"kind": "llmjudge"}).agents] == ["judge"]
    assert [seat.model for seat in plan(pool, preset="graded").agents] == ["judge"]
    assert {seat.model for seat in plan(pool, endpoint="one").agents} == {"own-one"}
    run = start_run(benchmark=pool.benchmark, pool=pool, endpoint=endpoints.get("two"), actor=None)
    assert run.model == "debater"


def test_a_model_that_is_named_is_asked(pool) -> None:
    agents = [{"model": "other"}, {"endpoint": "one"}]
    found = plan(pool, settings={"agents": agents})
    assert [(seat.model, seat.endpoint) for seat in found.agents] == [
        ("other", "two"),
        ("own-one", "one"),
    ]


def test_the_adjudicator_is_the_roles_unless_another_is_named(pool) -> None:
    ruling = ModelChoice("ruler", "one")
    assert plan(pool, preset="rounds-1+adjudicator").adjudicator == ruling
    assert plan(pool, settings={"adjudicator": {"endpoint": ""}}).adjudicator == ruling
    named = plan(pool, settings={"adjudicator": {"endpoint": "two", "model": "third"}})
    assert named.adjudicator == ModelChoice("third", "two")


def test_without_roles_everything_is_the_chosen_endpoints_own(pool, settings) -> None:
    settings.ASSAY_MODEL_OF_ROLE = {}
    # LARA's presets want labels that are known already.
    for preset in (each for each in PRESETS.values() if not each.name.startswith("lara")):
        models = [ModelChoice("own-two", "two"), ModelChoice("own-one", "one")][: preset.models]
        found = plan(pool, preset=preset.name, models=models if preset.models > 1 else [])
        assert {seat.model for seat in found.everybody} <= {"own-two", "own-one"}
        if found.adjudicator:
            assert found.adjudicator == ModelChoice("own-two", "two")
    form = RunForm(benchmark=pool.benchmark)
    assert first(form, "adjudicator_endpoint") == "the same as the agents"


def test_reasons_answers_and_vectors_begin_with_theirs(pool) -> None:
    assert first(HintForm()) == "two (debater)"
    assert first(AnswerForm(benchmark=pool.benchmark)) == "two (writer)"
    assert first(ComputeForm(method="embeddings", benchmark=pool.benchmark)) == "two (vectors)"
    assert freeze(pool.benchmark, "embeddings", {})["model"] == "vectors"
    assert freeze(pool.benchmark, "embeddings", {"endpoint": "one"})["model"] == "own-one"


def test_an_answer_run_asks_the_roles_model() -> None:
    room = make_room()
    signed_in(room.admin).post(
        room.url("answers/runs/new/"), {"endpoint": "two", "temperature": "0"}
    )
    assert AnswerRun.objects.get().model == "writer"


def test_holes_begin_with_the_agents(pool) -> None:
    access = enter(make_member(pool.benchmark, "admin", "admin"), "demo")
    assert first(HoleDebateForm(access=access)) == "two (debater)"


def test_a_cleaning_goes_by_role_unless_an_endpoint_is_chosen() -> None:
    benchmark = make_corpus()
    form = CleaningForm(benchmark=benchmark)
    assert first(form) == "by role: cleaner cleaner, splitter cutter, embedder vectors"
    assert form.fields["endpoint"].choices[1][1] == "two (cleaner)"
    run = start_cleaning(
        benchmark=benchmark,
        source=CorpusVersion.objects.current(benchmark),
        preset="marcus",
        actor=None,
    )
    assert run.asked == [("two", "cleaner"), ("one", "cutter")]


@pytest.mark.parametrize(
    ("preset", "endpoint", "seats"),
    [
        ("marcus", None, ("two", "cleaner", "cutter")),
        ("marcus_c", None, ("two", "cleaner", None)),
        ("marcus_s", None, ("one", "cutter", None)),
        ("dchunk", None, ("two", "vectors", None)),
        ("dchunk", "two", ("two", "vectors", None)),
        ("marcus", "one", ("one", "own-one", None)),
        ("diver_rules", "one", (None, "", None)),
        ("diver_rules", None, (None, "", None)),
    ],
)
def test_the_seats_of_each_preset(preset: str, endpoint: str | None, seats: Any) -> None:
    found = choose_models(preset, endpoints.get(endpoint) if endpoint else None)
    splitter = found.splitter.default_model if found.splitter else None
    assert (found.endpoint and found.endpoint.name, found.model, splitter) == seats


def test_a_cleaning_by_role_is_priced_by_its_models(settings, tmp_path: Path) -> None:
    row = (
        '{{"endpoint": "*", "model": "{}", "valid_from": "2020-01-01", "input": "{}", '
        '"cached": "1", "output": "0"}}'
    )
    benchmark = make_corpus()
    client = Client()
    client.force_login(make_member(benchmark, "admin", "admin"))
    url = "/api/b/demo/cleaning-forecast/?preset=marcus"

    def forecast(cleaner: int, cutter: int) -> dict[str, Any]:
        prices = tmp_path / f"prices-{cleaner}-{cutter}.json"
        prices.write_text(f"[{row.format('cleaner', cleaner)}, {row.format('cutter', cutter)}]")
        settings.ASSAY_PRICES = str(prices)
        return client.get(url).json()

    alike = forecast(10, 10)
    assert float(alike["usd"]) == pytest.approx(alike["input_tokens"] * 10 / 1e6)
    cleaning, cutting = (float(forecast(*each)["usd"]) for each in ((10, 0), (0, 30)))
    assert 0 < cleaning < float(alike["usd"])
    assert float(forecast(10, 30)["usd"]) == pytest.approx(cleaning + cutting)
    assert client.get(url + "&endpoint=one").json()["usd"] is None
