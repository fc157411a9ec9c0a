"""Embeddings: any shape of answer is read or refused, and a row in the ledger holds the vectors."""

import asyncio
from base64 import b64encode
from decimal import Decimal

import numpy as np
import pytest
from aiohttp import web

from llm.errors import Transient
from llm.gateway import Gateways
from llm.ledger.reading import transcript
from llm.models import Account, Call, to_units
from llm.prices import PriceTable
from llm.profiles import Profile
from llm.requests import Reply
from llm.wire import embedding_request, pack, read, unpack, written
from tests.llm.stub import Stub

TWO = embedding_request(endpoint="stub", model="stub-1", texts=["one", "two"])
USAGE = {"prompt_tokens": 7, "total_tokens": 7}


def rows(*vectors, **changes):
    data = [{"index": i, "embedding": v} for i, v in enumerate(vectors)]
    return {"data": data, "usage": USAGE, **changes}


def vectors(answer) -> Reply:
    return read(answer, TWO, Profile(), elapsed_s=1.0)


def packed(*numbers: float) -> str:
    return b64encode(np.array(numbers, "<f4").tobytes()).decode()


def test_numbers_and_base64_are_the_same_and_order_is_by_index() -> None:
    want = [[1.0, 0.5], [0.25, -2.0]]
    plain = vectors(rows([1, 0.5], [0.25, -2]))
    as_text = vectors(rows(packed(1, 0.5), packed(0.25, -2)))
    turned = rows([1, 0.5], [0.25, -2])
    turned["data"].reverse()
    for reply in (plain, as_text, vectors(turned)):
        assert unpack(reply.text).tolist() == want
    assert plain.usage is not None
    assert (plain.usage.input, plain.usage.output) == (7, 0)


@pytest.mark.parametrize(
    "answer",
    [
        None,
        [],
        {},
        {"data": None},
        rows([1.0]),
        rows([1.0], [1.0], [1.0]),
        rows([1.0], [1.0, 2.0]),
        rows([], []),
        rows([float("nan")], [1.0]),
        rows([1e300], [1.0]),
        rows([True], [1.0]),
        rows(["1"], ["2"]),
        rows("not base64!", "x"),
        rows("AAA=", "AAA="),
        rows({"a": 1}, {"b": 2}),
        {"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [1]}]},
        {"data": [{"index": "0", "embedding": [1]}, {"index": 1, "embedding": [1]}]},
    ],
)
@pytest.mark.filterwarnings("ignore:overflow")
def test_other_answers_are_refused(answer) -> None:
    with pytest.raises(Transient):
        vectors(answer)


def test_the_key_knows_texts_model_and_dimensions() -> None:
    def key(**changes):
        given = {"endpoint": "e", "model": "m", "texts": ["a", "b"], **changes}
        return embedding_request(**given).key

    others = [{"texts": ["ab"]}, {"texts": ["b", "a"]}, {"model": "n"}, {"dimensions": 8}]
    assert len({key(), *(key(**each) for each in others)}) == 5
    short = embedding_request(endpoint="e", model="m", texts=["a"], dimensions=8)
    assert written(short, Profile())[1]["dimensions"] == 8
    assert unpack(pack(np.array([[1, 2]], np.float32))).tolist() == [[1, 2]]


@pytest.mark.django_db(transaction=True)
def test_ledger_keeps_vectors_and_hashes_and_the_account_pays() -> None:
    account = Account.objects.create(limit_units=to_units(Decimal(1)))
    row = {"endpoint": "stub", "model": "stub-1", "valid_from": "2020-01-01"}
    prices = PriceTable.parse([{**row, "input": "100", "cached": "100", "output": "0"}])

    async def answer() -> web.Response:
        return web.json_response(rows([1.0, 0.0], [0.0, 1.0]))

    async def run() -> None:
        async with Stub(answer) as stub:
            options = {"account": account, "prices": prices, "concurrency": 2}
            async with Gateways(known=[stub.endpoint], **options) as gateways:
                first = await gateways.complete(TWO, "run-computation:1")
                second = await gateways.complete(TWO, "run-computation:1")
            assert (first.replayed, second.replayed, len(stub.asked)) == (False, True, 1)
            assert first.text == second.text
            assert stub.asked[0]["input"] == ["one", "two"]

    asyncio.run(run())
    call = Call.objects.get()
    assert (call.role, call.input_tokens, call.output_tokens) == ("embedding", 7, 0)
    assert set(call.request) == {"texts_sha256", "schema_name"}
    assert "one" not in str(call.request)
    assert transcript(call) == []  # its page has no prompt to show
    account.refresh_from_db()
    assert (str(account.spent_usd.normalize()), account.reserved_units) == ("0.0007", 0)
