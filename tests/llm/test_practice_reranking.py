"""The practice model as a reranker and as a rerank server: the documented rule."""

import pytest

from llm.practice.completion import MODEL, Refusal, rerank
from llm.practice.writing import overlap, reranking

QUERY = "Does mulch keep garden soil moist?"
SHORT = "Mulch keeps soil moist."
LONG = "Mulch, garden, soil, moist; " + "and much beside it. " * 20


def test_overlap_is_of_the_shorter_text_and_a_list_goes_by_the_count() -> None:
    # mulch, soil and moist of four telling words; mulch, garden, soil and moist of six.
    assert overlap(QUERY, SHORT) == pytest.approx(3 / 4)
    assert overlap(QUERY, LONG) == pytest.approx(4 / 5, abs=0.15)
    assert overlap(QUERY, "") == 0
    assert reranking("", QUERY, [SHORT]) == "Relevance score: 8."
    listed = reranking("the numbers of the 2 most\n```json", QUERY, [SHORT, LONG, "No."])
    assert listed.endswith("```json\n[2, 1]\n```")
    grouped = reranking("<answer>", QUERY, [SHORT, "Nothing."])
    assert '"[1]": 10, "[2]": 0' in grouped


def test_the_server_speaks_as_jina_does_and_says_what_it_does_not_take() -> None:
    body = {"model": MODEL, "query": QUERY, "documents": ["No.", SHORT]}
    answer = rerank(body)
    assert [each["index"] for each in answer["results"]] == [1, 0]
    assert answer["usage"]["total_tokens"] > 0
    for wrong in ({"documents": []}, {"documents": [1]}, {"query": None}, {"model": "x"}):
        with pytest.raises(Refusal):
            rerank(body | wrong)
