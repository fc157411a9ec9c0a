"""Worked numbers of support, the judge's replies, and the shapes of answers."""

import json

import pytest

from evaluation.support.protocol.judging import (
    ROLE,
    Exam,
    Judge,
    Support,
    Verdict,
    judge,
    prompt,
    read_verdict,
    support,
)
from evaluation.support.protocol.shapes import (
    SHAPES,
    Record,
    ShapeFault,
    beyond,
    read_record,
    written,
)
from kit.stats.clusters import share_difference
from kit.stats.proportions import proportion
from llm.requests import Reply, Usage

PASSAGE = "Moths roll their\nbacks towards the light. So they fly in loops."


@pytest.mark.parametrize(
    ("sentences", "expected"),
    [
        # (1 + .5 + 0) / 3 citations; (1 + 0 + 0) / 3 sentences, the first by its best citation.
        ([[1.0, 0.5], [0.0], []], Support(0.5, 1 / 3, 1 / 3, 1 / 3)),
        # (.5 + .5) / 2 and (.5 + .5) / 2; nothing is fully supported.
        ([[0.5], [0.5]], Support(0.5, 0.5, 0.0, 0.0)),
        # No citation: no precision, and recall 0 of both sentences.
        ([[], []], Support(None, 0.0, None, 0.0)),
        # What could not be judged is left out with its sentence, unless another supports it fully.
        ([[None, 0.5], [None, 1.0], [1.0]], Support(2.5 / 3, 1.0, 2 / 3, 1.0)),
        ([[None]], Support(None, None, None, None)),
        ([], Support(None, None, None, None)),
    ],
)
def test_precision_and_recall_by_hand(sentences, expected) -> None:
    found = support(sentences)
    for name in ("precision", "recall", "hard_precision", "hard_recall"):
        assert getattr(found, name) == pytest.approx(getattr(expected, name)), name


def test_the_difference_of_shares_combines_both_intervals() -> None:
    # Newcombe (1998), method 10: 56/70 against 48/80 gives .2 with .0524 to .3339.
    first, second = proportion(56, 70), proportion(48, 80)
    ends = share_difference(first, second, (0.8, 0.6))
    assert (ends.low, ends.high) == pytest.approx((0.0524, 0.3339), abs=1e-4)
    assert share_difference(proportion(0, 0), second, (0.0, 0.6)) is None


def test_the_prompt_is_its_version_and_holds_its_rules() -> None:
    assert (prompt().version, prompt().sha256[:16], prompt().role) == (1, "8bb9eb862bde6871", ROLE)
    text = prompt().system + prompt().user
    for rule in ("full", "partial", "none", "letter by letter", "passage alone", "one JSON object"):
        assert rule in text


def said(verdict: object, span: object = "", reason: str = "So.") -> str:
    return json.dumps({"reason": reason, "verdict": verdict, "span": span})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # White space alone is forgiven: [0, 21) of the passage.
        (said("full", "Moths roll their backs"), Verdict(2, (0, 22), "So.")),
        (said("Partial", "So they fly in loops."), Verdict(1, (42, 63), "So.")),
        # Of partial support words that are not there are left out; of none all are.
        (said("partial", "Moths turn"), Verdict(1, None, "So.")),
        (said("none", "Moths roll"), Verdict(0, None, "So.")),
        (said("partial", 7), Verdict(1, None, "So.")),
    ],
)
def test_a_verdict_is_read(text, expected) -> None:
    assert read_verdict(text, PASSAGE) == expected


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (said("full", "Moths turn their backs"), "letter by letter"),
        (said("full"), "letter by letter"),
        # A letter, a full stop, two words and pieces of words show nothing.
        (said("full", "a"), "three whole words"),
        (said("full", "."), "three whole words"),
        (said("full", "Moths roll"), "three whole words"),
        (said("full", "oths roll their back"), "three whole words"),
        (said("yes"), "none of full"),
        (said(True), "none of full"),
        ("Fully supported.", ""),
        (said("none") + said("full", "Moths roll"), ""),
    ],
)
def test_a_doubt_is_no_verdict(text, words) -> None:
    found = read_verdict(text, PASSAGE)
    assert isinstance(found, str)
    assert words in found


def test_words_of_a_short_passage_and_of_a_script_without_blanks_are_enough() -> None:
    assert read_verdict(said("full", "Moths roll."), "Moths roll.") == Verdict(2, (0, 11), "So.")
    assert read_verdict(said("full", "飞蛾绕"), "夜里飞蛾绕着灯飞。") == Verdict(2, (2, 5), "So.")
    assert isinstance(read_verdict(said("full", "飞蛾"), "夜里飞蛾绕着灯飞。"), str)
    assert isinstance(read_verdict(said("full", "."), "."), str)


def test_a_judge_is_asked_once_more_and_then_it_is_unreadable() -> None:
    exam = Exam("Why?", "", "Moths roll.", PASSAGE)

    def replies(*texts: str) -> tuple[Verdict, int]:
        steps = judge(exam, Judge("e", "m"), b"key")
        (request,) = next(steps)
        asked = 1
        for number, text in enumerate(texts, 1):
            try:
                (request,) = steps.send([Reply(text, Usage(1, 1), 0.1, call_id=number)])
            except StopIteration as end:
                return end.value, asked
            asked += 1
            assert "letter by letter" in request.messages[-1]["content"]
        raise AssertionError

    lies = said("full", "Moths turn.")
    assert replies(lies, said("full", "Moths roll their")) == (Verdict(2, (0, 16), "So.", 2), 2)
    found, asked = replies(lies, lies)
    assert (found.value, found.call, asked) == (None, 2, 2)


RECORD = Record("h2oloo", "12", (("Moths roll.", ("p#1", "p#2")), ("Who knows.", ())))


@pytest.mark.parametrize("shape", SHAPES)
def test_every_shape_comes_back_as_it_went(shape) -> None:
    data = json.loads(json.dumps(written(RECORD, shape=shape, question="Why?", retrieved=["p#9"])))
    found = read_record(data)
    assert (found.run_id, found.topic, found.sentences) == (
        RECORD.run_id, RECORD.topic, RECORD.sentences
    )  # fmt: skip
    assert found.shape == shape


def test_shapes_are_those_of_the_tracks() -> None:
    rag24 = written(RECORD, shape="rag24", question="Why?", retrieved=["p#9"])
    assert rag24 == {
        "run_id": "h2oloo",
        "topic_id": "12",
        "topic": "Why?",
        "references": ["p#9", "p#1", "p#2"],
        "response_length": 4,
        "answer": [
            {"text": "Moths roll.", "citations": [1, 2]},
            {"text": "Who knows.", "citations": []},
        ],
    }
    rag25 = written(RECORD, shape="rag25", question="Why?", is_manual=True)
    assert rag25["metadata"] == {
        "team_id": "assay", "run_id": "h2oloo", "type": "manual", "narrative_id": "12",
        "narrative": "Why?",
    }  # fmt: skip
    ragtime = written(RECORD, shape="ragtime", question="Why?", retrieved=["p#9"])
    assert ragtime["references"] == ["p#1", "p#2"]  # what is cited alone
    assert ragtime["responses"][0] == {"text": "Moths roll.", "citations": ["p#1", "p#2"]}
    assert list(written(RECORD, shape="neuclir", question="")) == [
        "request_id", "run_id", "collection_ids", "sentences"
    ]  # fmt: skip


def test_what_tracks_allow_is_read() -> None:
    metadata = {"team_id": "t", "run_id": "r", "narrative_id": 7}
    by_id = {
        "metadata": metadata,
        "references": ["a"],
        "answer": [{"text": "T.", "citations": ["a"]}],
    }
    assert read_record(by_id) == Record("r", "7", (("T.", ("a",)),), "rag25")
    # As TREC AutoJudge passes runs on, whatever track they began in: other names, other citations.
    passed_on = {
        "metadata": {"run_id": "r", "topic_id": "7", "narrative_id": 7, "request_id": "7"},
        "references": ["a", "b"],
        "responses": [{"text": "T.", "citations": [1]}],
    }
    assert read_record(passed_on).sentences == (("T.", ("b",)),)
    of_map = passed_on | {"answer": [{"text": "T.", "citations": {"a": 0.2, "b": 0.9}}]}
    del of_map["responses"]
    assert read_record(of_map | {"references": None}).sentences == (("T.", ("b", "a")),)
    passed_on["metadata"]["request_id"] = "8"
    with pytest.raises(ShapeFault, match="topic_id and request_id and narrative_id are not"):
        read_record(passed_on)
    sure = {
        "metadata": {"run_id": "r", "topic_id": "7"},
        "responses": [{"text": "T.", "citations": {"a": 0.2, "b": 0.9}}, {"text": "U."}],
    }
    assert read_record(sure).sentences == (("T.", ("b", "a")), ("U.", ()))


LONG_WORD = "ﬁve"  # NFKC makes two letters of the first: f, i


@pytest.mark.parametrize(
    ("shape", "text", "cited", "told"),
    [
        ("rag24", "w " * 400, 20, []),
        ("rag24", "w " * 401, 21, [
            ("401 words, and 400 are allowed.", False),
            ("21 references, and 20 are allowed.", True),
        ]),
        ("rag25", "w " * 401, 100, [("401 words, and 400 are allowed.", False)]),
        ("rag25", "w", 101, [("101 references, and 100 are allowed.", False)]),
        ("ragtime", "w" * 9_996 + LONG_WORD, 200, []),
        ("ragtime", "w" * 9_997 + LONG_WORD, 1, [
            ("10,001 characters, and 10,000 are allowed.", False),
        ]),
        ("neuclir", "w " * 20_000, 200, []),
    ],
)  # fmt: skip
def test_what_is_beyond_the_limits_of_a_track_is_told(shape, text, cited, told) -> None:
    ids = [f"p#{n}" for n in range(cited)]
    record = Record("r", "7", ((text.strip(), tuple(ids)),))
    data = written(record, shape=shape, question="Why?")
    assert list(beyond(data, shape, ids)) == told
    (last,) = list(beyond(data, shape, ids[1:]))[len(told) :]
    assert last == ("'p#0' is the id of no passage here.", shape == "rag24")


HEAD = {"run_id": "r", "topic_id": "7", "references": ["a"]}


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ([], "no JSON object"),
        ({}, "answer, responses or sentences is missing"),
        ({"metadata": 1}, "metadata is no"),
        ({"metadata": {}}, "answer (TREC RAG) or responses"),
        ({**HEAD, "topic_id": None, "answer": []}, "topic_id is no id"),
        ({"topic_id": "7", "answer": []}, "run_id is missing"),
        ({**HEAD, "run_id": "r\x00", "answer": []}, "run_id is longer"),
        ({**HEAD, "references": [1], "answer": []}, "references is no list"),
        ({**HEAD, "answer": "T."}, "answer is no list"),
        ({**HEAD, "answer": ["T."]}, "answer[0].text is no text"),
        ({**HEAD, "answer": [{"text": None}]}, "answer[0].text is no text"),
        ({**HEAD, "answer": [{"text": " ", "citations": [1]}]}, "[0] is 1, and there are 1 refer"),
        ({**HEAD, "answer": [{"text": "T.", "citations": 0}]}, "answer[0].citations is no list"),
        ({**HEAD, "answer": [{"text": "T.", "citations": [0] * 2001}]}, "list of at most 2,000"),
        ({**HEAD, "answer": [{"text": "T.", "citations": [1]}]}, "[0] is 1, and there are 1 refer"),
        ({**HEAD, "answer": [{"text": "T.", "citations": [-1]}]}, "is -1"),
        ({**HEAD, "answer": [{"text": "T.", "citations": [True]}]}, "not a number in references"),
        ({**HEAD, "answer": [{"text": "T.", "citations": ["a"]}]}, "not a number in references"),
        ({**HEAD, "answer": [{"text": "\ud800"}]}, "half a surrogate"),
        (
            {"metadata": HEAD, "responses": [{"text": "T.", "citations": {"a": "high"}}]},
            "confidence that is no number",
        ),
        (
            {"request_id": "7", "run_id": "r", "sentences": [{"text": "T.", "citations": [3]}]},
            "an id",
        ),
    ],
)
def test_faults_name_their_field(data, words) -> None:
    with pytest.raises(ShapeFault) as fault:
        read_record(data)
    assert words in str(fault.value)
