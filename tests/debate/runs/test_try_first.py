"""Before its first call a run tries models that nobody has tried: settings that are wrong end it
before an item is touched."""

from typing import Any

import pytest

from corpus.computing import services as computing
from corpus.models import CorpusVersion, RunComputation
from debate.models import DebateRun, Turn
from debate.runs.configuration import ModelChoice, RunConfig
from debate.tasks import run_debates
from kit.runs.models import RunStatus
from kit.runs.moves import resume_run
from llm import endpoints
from llm.models import Call, ModelProfile
from tests.corpus.cleaning.rooms import clean, make_corpus
from tests.debate.answering import answering, turn
from tests.debate.runs.making import drive, hold, pool_of
from tests.factories import make_benchmark, make_member
from tests.llm.stub import Step, status
from tests.llm.test_trying import NO_KEY, NO_MODEL, NO_MONEY, NO_TEMPERATURE, OK
from tests.markup import one_line

pytestmark = pytest.mark.django_db(transaction=True)
# "3" of p3: both agents of the stub say the same.
AGREED = turn("no")


@pytest.fixture(autouse=True)
def _tries_first(settings) -> None:
    settings.ASSAY_TRY_FIRST = True


@pytest.fixture
def pool() -> Any:
    return pool_of(make_benchmark(), 3, 9)


def checks() -> int:
    return Call.objects.about("check").count()


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (NO_KEY, "refuses the key (HTTP 401: Incorrect API key provided: [key])"),
        (NO_MONEY, "its quota or credit is used up (HTTP 429: You exceeded your current quota)"),
        (NO_MODEL, "knows no model “stub-1”, or its address is wrong (HTTP 400: stub-1 is not"),
        (status(404), "knows no model “stub-1”"),
    ],
)
def test_wrong_settings_end_a_run_before_a_pair_is_touched(
    fault: Step, words: str, pool, settings
) -> None:
    with answering(settings, fault) as stub:
        run = hold(pool, endpoints.get("default"))
    assert run.status == RunStatus.FAILED
    assert words in run.error
    assert len(stub.asked) == 1
    assert (checks(), Call.objects.count(), Turn.objects.count()) == (1, 1, 0)
    assert set(run.debates.values_list("status", flat=True)) == {"waiting"}


def test_mended_settings_let_the_run_go_on(pool, settings) -> None:
    with answering(settings, NO_KEY, OK, AGREED):
        run = hold(pool, endpoints.get("default"))
        resume_run(run=run, actor=make_member(run.benchmark, "admin", "admin"))
        run_debates(run.pk)
    run.refresh_from_db()
    assert (run.status, run.done) == (RunStatus.DONE, 2)
    assert checks() == 2


def test_a_model_that_answered_is_not_tried_again(pool, settings) -> None:
    with answering(settings, OK, AGREED):
        hold(pool, endpoints.get("default"))
        hold(pool, endpoints.get("default"), RunConfig(replicate=1))
    assert checks() == 1
    assert Call.objects.get(subject__startswith="check").account_id is None


def test_every_model_of_a_run_is_tried(pool, settings) -> None:
    seats = (ModelChoice("stub-1", "default"), ModelChoice("stub-2", "default"))
    with answering(settings, OK, OK, AGREED) as stub:
        hold(pool, endpoints.get("default"), RunConfig(agents=seats, rounds=1))
    assert [body["model"] for body in stub.asked[:2]] == ["stub-1", "stub-2"]
    assert checks() == 2


def test_an_endpoint_in_trouble_ends_nothing(pool, settings) -> None:
    with answering(settings, status(503), AGREED):
        run = hold(pool, endpoints.get("default"))
    assert (run.status, run.done) == (RunStatus.DONE, 2)


def test_the_practice_model_is_not_tried(pool) -> None:
    with endpoints.practice_if_unconfigured() as endpoint:
        run = hold(pool, endpoint)
    assert run.status == RunStatus.DONE
    assert checks() == ModelProfile.objects.count() == 0


def test_a_run_without_models_asks_nobody(pool, settings) -> None:
    with answering(settings, OK) as stub:
        run = hold(pool, endpoints.get("default"), RunConfig(kind="human_only"))
    assert (run.status, stub.asked) == (RunStatus.DONE, [])


def test_what_the_trial_taught_is_how_the_run_asks_and_what_its_page_says(
    pool, settings, client
) -> None:
    with answering(settings, NO_TEMPERATURE, OK, AGREED) as stub:
        run = hold(pool, endpoints.get("default"))
        assert run.status == RunStatus.DONE
        assert not any("temperature" in body for body in stub.asked[1:])
        client.force_login(make_member(run.benchmark, "admin", "admin"))
        page = one_line(client.get(f"/b/{run.benchmark.slug}/debates/{run.pk}/"))
    assert "How stub-1 at default is asked" in page
    assert "max_tokens, no temperature, answers by JSON schema; taught by 1 refusal" in page
    assert "Unsupported value" in page
    assert stub.endpoint.base_url not in page


def test_the_page_of_a_run_whose_endpoint_is_gone_is_shown(pool, settings, client) -> None:
    with answering(settings, OK, AGREED):
        run = hold(pool, endpoints.get("default"))
    settings.OPENAI_BASE_URL = settings.OPENAI_API_KEY = ""
    client.force_login(make_member(run.benchmark, "admin", "admin"))
    page = client.get(f"/b/{run.benchmark.slug}/debates/{run.pk}/")
    assert page.status_code == 200
    assert "is asked" not in one_line(page)


@pytest.mark.parametrize("preset", ["marcus", "dchunk"])
def test_a_cleaning_ends_before_a_page_is_touched(preset: str, settings) -> None:
    benchmark = make_corpus()
    with answering(settings, NO_KEY) as stub:
        run = clean(benchmark, endpoints.get("default"), preset=preset)
    assert run.status == RunStatus.FAILED
    assert "refuses the key (HTTP 401" in run.error
    assert len(stub.asked) == 1
    assert ("input" in stub.asked[0]) is (preset == "dchunk")


def test_a_computation_ends_before_a_text_is_sent(settings) -> None:
    benchmark = make_corpus()
    with answering(settings, NO_KEY) as stub:
        computation = computing.start(
            benchmark=benchmark, method="embeddings", config={}, actor=None, claimed=True
        )
        computing.run_computation(computation)
    computation = RunComputation.objects.get()
    assert computation.status == RunStatus.FAILED
    assert "refuses the key (HTTP 401" in computation.error
    assert [len(body["input"]) for body in stub.asked] == [1]


def test_a_splitter_of_its_own_is_asked_and_priced_as_that(settings) -> None:
    benchmark = make_corpus()
    settings.ASSAY_TRY_FIRST = False
    with answering(settings, '{"text": "Ferns have no seeds."}') as stub:
        settings.ASSAY_MODEL_OF_ROLE = {"cleaner": "cleaner-1", "splitter": "splitter-1"}
        run = clean(benchmark, None)
    assert run.model == "cleaner-1"
    assert run.asked == [("default", "cleaner-1"), ("default", "splitter-1")]
    models = {body["response_format"]["json_schema"]["name"]: body["model"] for body in stub.asked}
    assert models.pop("splitter") == "splitter-1"
    assert set(models.values()) == {"cleaner-1"}
    version = CorpusVersion.objects.get(made_by=run)
    assert version.recipe["splitter"] == "splitter-1"
    assert "default" not in str(version.recipe)


def test_a_run_of_before_there_was_a_splitter_is_as_it_was(settings) -> None:
    with endpoints.practice_if_unconfigured() as endpoint:
        run = clean(make_corpus(), endpoint)
    assert run.asked == [("practice", "practice-1")]
    assert "splitter" not in run.config


def test_a_run_that_is_driven_again_tries_nobody(pool, settings) -> None:
    with answering(settings, OK, AGREED):
        run = hold(pool, endpoints.get("default"))
        DebateRun.objects.update(status=RunStatus.QUEUED)
        run.refresh_from_db()
        assert run.claim()
        drive(run)
    assert checks() == 1
