"""Rerank servers over every wire: the outcome, what they refuse, what is tried before they are
paid, and what they are paid for."""

import json
from contextlib import contextmanager
from decimal import Decimal

import pytest

from corpus.models import Passage, RerankRun
from corpus.reranking.probing import PAIRS, fault_of
from kit.errors import Refused
from llm import endpoints
from llm.models import Call
from llm.reranking import WIRES
from llm.trying import try_endpoint
from tests.corpus.reranking.room import Room, driven
from tests.stub.reranking import KEY, reranking

pytestmark = pytest.mark.django_db(transaction=True)


@contextmanager
def serving(settings, tmp_path, wire, score=None, **entry):
    """A server of that wire, configured."""
    with reranking(wire, *([score] if score else [])) as server:
        given = {
            "name": "server",
            "base_url": server.base_url,
            "default_model": "rerank-1",
            "api": wire,
            "api_key": KEY,
        }
        path = tmp_path / f"{wire}.json"
        path.write_text(json.dumps([given | entry]))
        settings.ASSAY_ENDPOINTS = str(path)
        yield server


def ran(room: Room, **options) -> RerankRun:
    return driven(room.start("endpoint", endpoints.for_role("reranker"), **options))


@pytest.mark.few(2)
@pytest.mark.parametrize("wire", WIRES)
def test_every_wire_reranks(room, settings, tmp_path, wire) -> None:
    with serving(settings, tmp_path, wire) as server:
        found = ran(room)
        assert (found.status, found.error) == ("done", "")
        assert room.order(found.run)[0] == "b1"
        batches = [b for b in server.asked if "mulch" in json.dumps(b).lower()]
        # TEI takes three texts at once and says so; one list has four.
        assert len(batches) == (2 if wire == "tei" else 1)
        asked = len(server.asked)
        again = ran(room, mix="interpolate")
        assert len(server.asked) == asked
        assert room.order(again.run)[0] == "b1"
    counts = set(Call.objects.filter(role="rerank").values_list("input_tokens", flat=True))
    assert counts == ({None} if wire == "tei" else {1} if "cohere" in wire else {26})


def test_a_model_gets_its_texts_in_the_template_that_it_wants(room, settings, tmp_path) -> None:
    forms = {"query_template": "<Q>\r\n{query}", "document_template": "<D>{document}</D>"}
    with serving(settings, tmp_path, "jina") as server:
        ran(room)
        plain = len(server.asked)
        run = ran(room, **forms)
        mine = server.asked[plain:]
        # The pairs are tried in them, too, and nothing is taken for what was asked without.
        assert len(mine) == plain
        assert all(each["query"].startswith("<Q>\n") for each in mine)
        assert all(text.startswith("<D>") for each in mine for text in each["documents"])
        assert run.config["query_template"] == "<Q>\n{query}"
        with pytest.raises(Refused, match="where the text goes") as refused:
            ran(room, document_template="nothing")
    assert refused.value.field == "document_template"


def test_texts_stand_in_the_ledger_by_their_hashes(room, settings, tmp_path) -> None:
    with serving(settings, tmp_path, "jina"):
        ran(room)
    for call in Call.objects.filter(role="rerank"):
        assert "Mulch" not in json.dumps(call.request)
        assert call.request["wire"] == "jina"


def test_search_units_are_what_cohere_is_paid_for(room, settings, tmp_path) -> None:
    prices = tmp_path / "prices.json"
    row = {"endpoint": "server", "model": "rerank-1", "valid_from": "2025-01-01"}
    # $2 for a thousand searches.
    prices.write_text(json.dumps([row | {"input": "2000", "cached": "2000", "output": "0"}]))
    settings.ASSAY_PRICES = str(prices)
    with serving(settings, tmp_path, "cohere-2"):
        found = ran(room, budget_usd=Decimal("1.00"))
        assert (found.status, found.spent_usd) == ("done", Decimal("0.024"))
        # The probe stands in the ledger; a list costs a fifth of a cent.
        poor = ran(room, budget_usd=Decimal("0.00"), depth=2)
        assert poor.status == "paused"
        assert "has no room for the next call" in poor.pause_reason


def test_a_server_that_is_busy_is_asked_again(room, settings, tmp_path) -> None:
    with serving(settings, tmp_path, "voyage") as server:
        server.refuse = [429]
        assert ran(room).status == "done"


@pytest.mark.few(2)
@pytest.mark.parametrize("wire", WIRES)
def test_refusals_are_told_in_the_servers_words(room, settings, tmp_path, wire) -> None:
    with serving(settings, tmp_path, wire) as server:
        server.refuse = [422] * 60
        found = ran(room)
    assert found.status == "failed"
    # Where the trial is refused nothing stops yet; each query fails in the server's words.
    assert set(found.items.values_list("error", flat=True)) == {
        "The endpoint “server” refused this request: HTTP 422: not now"
    }


@pytest.mark.slow
def test_a_wrong_key_ends_the_run_before_anything_is_asked(room, settings, tmp_path) -> None:
    with serving(settings, tmp_path, "jina", api_key="sk-wrong") as server:
        found = ran(room)
        assert found.status == "failed"
        assert "refuses the key" in found.error
        assert "sk-wrong" not in found.error
        assert server.asked == []


@pytest.mark.parametrize(
    ("score", "why"),
    [
        (lambda query, text: 0.5, "every score is the same"),
        (lambda query, text: -float(len(set(query.split()) & set(text.split()))), "on their head"),
        (lambda query, text: len(text) % 7, "do not tell answers from other texts"),
    ],
)
def test_scores_that_tell_nothing_stop_the_run_before_it_pays(
    room, settings, tmp_path, score, why
) -> None:
    with serving(settings, tmp_path, "jina", score) as server:
        found = ran(room)
        assert found.status == "failed"
        assert why in found.error
        assert "Likely" in found.error
        assert all(each["query"] in {q for q, _, _ in PAIRS} for each in server.asked[1:])
    assert found.items.filter(state="waiting").count() == 2


def test_what_is_wrong_with_scores() -> None:
    good = [[1.0, 0.0]] * 10
    assert fault_of(good, 1.0) == ""
    assert "AUC 0.80" in fault_of(good, 0.8)


def test_documents_that_a_server_cuts_are_counted_where_it_tells_its_limit(
    room, settings, tmp_path
) -> None:
    Passage.objects.filter(pid="b4").update(text="Moist soil in the garden. " * 200)
    with serving(settings, tmp_path, "tei"):
        assert ran(room).report["truncated_documents"] == {"b4": 1}
    with serving(settings, tmp_path, "jina"):
        assert ran(room).report["truncated"] == 0


def test_servers_and_models_that_write_are_not_taken_for_one_another(
    room, settings, tmp_path
) -> None:
    with serving(settings, tmp_path, "jina"):
        server = endpoints.for_role("reranker")
        with pytest.raises(Refused, match="is a rerank server and writes nothing"):
            room.start("pointwise", server)
        assert endpoints.available("judge") == []
        (trial,) = try_endpoint(server)
        assert (trial.known.fault, trial.asked) == ("", "for scores of passages")
    settings.ASSAY_ENDPOINTS = ""
    settings.OPENAI_BASE_URL, settings.OPENAI_API_KEY = "http://127.0.0.1:9/v1", "sk"
    with pytest.raises(Refused, match="is no rerank server"):
        room.start("endpoint", endpoints.get("default"))
