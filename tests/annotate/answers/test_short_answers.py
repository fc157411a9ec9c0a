"""Short answers: written, loaded, taken from reference answers; then judged by."""

import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from annotate.answers.citing import without_citations
from annotate.answers.comparing import draw_comparison
from annotate.answers.services import choose_answer, record_model_answer
from corpus.models import PoolEntry, Query
from corpus.pools.builds import build_pool
from corpus.texts.answers import VERB, write_answers
from kit.errors import Refused
from kit.models import Event
from tests.annotate.answering import MAKING
from tests.factories import make_benchmark, make_query, make_ranking

BRIGHT_PRO = {
    "id": "1",
    "query": "Why do moths circle lamps?",
    "gold_ids": ["lamps/page_1.txt"],
    "reference_answer": (
        "They roll their backs to the light [doc_1]. Air rises [see above] [doc_2]."
    ),
}


@pytest.fixture
def benchmark(db):
    """Two domains; both have a query 1, of biology 2 alone has an answer."""
    benchmark = make_benchmark("moths", ["biology", "physics"])
    for qid, domain, answers in (("1", "biology", []), ("2", "biology", ["old"])):
        make_query(benchmark, qid, domain, answers=answers)
    make_query(benchmark, "1", "physics", answers=[])
    return benchmark


def load(*args, **options):
    out, err = StringIO(), StringIO()
    code = 0
    try:
        call_command("load_answers", *map(str, args), stdout=out, stderr=err, **options)
    except SystemExit as end:
        code = end.code
    return code, out.getvalue(), err.getvalue()


def answers(benchmark):
    rows = Query.objects.in_benchmark(benchmark).values_list("domain__name", "qid", "answers")
    return {(domain, qid): found for domain, qid, found in rows}


def written(tmp_path, name, text):
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def lines(*rows):
    return "\n".join(json.dumps(row) for row in rows)


FORMS = [
    ("a.jsonl", lines({"id": 3, "answers": ["a", "b "]}, {"q_id": "4", "answer": "c"})),
    ("a.json", json.dumps([{"query_id": "3", "answers": ["a", "b"]}, {"qid": "4", "answer": "c"}])),
    ("a.tsv", "query-id\tanswer\n3\ta\n3\tb\n4\tc\n"),
    ("a.txt", "3\ta\n4\tc\n\n3\tb\n3\ta\n"),
]


@pytest.mark.parametrize(("name", "text"), FORMS)
def test_a_file_gives_answers_in_every_form(db, tmp_path, name, text) -> None:
    benchmark = make_benchmark()
    make_query(benchmark, "3", answers=[])
    make_query(benchmark, "4", answers=[])
    path = written(tmp_path, name, text)
    assert load(path, benchmark="demo")[:2] == (
        0,
        "demo: 2 queries, 3 answers, 2 written, 0 same.\n",
    )
    assert answers(benchmark) == {("biology", "3"): ["a", "b"], ("biology", "4"): ["c"]}
    assert load(path, benchmark="demo")[1] == "demo: 2 queries, 3 answers, 0 written, 2 same.\n"
    events = Event.objects.filter(verb=VERB, scope="demo")
    assert [each.data for each in events] == [
        {"before": [], "answers": ["c"], "file": name},
        {"before": [], "answers": ["a", "b"], "file": name},
    ]


WRONG = [
    (lines({"id": "9", "answers": ["x"]}), r"a.jsonl:1 answers: moths has no query '9'."),
    (lines({"id": "1", "answers": ["x"]}), "Query 1 is in several domains (biology, physics)"),
    (lines({"id": "2", "answers": ["x"]}), "has other short answers already; --replace"),
    (lines({"id": "1", "domain": "physics", "answers": [" "]}), "gets no answer."),
    (lines({"id": "1", "domain": "physics"}), "a.jsonl:1 answers: This field is missing."),
    (lines({"id": "1", "domain": "x", "answers": ["x"]}), "has no query '1' in x."),
    ("{", "a.jsonl:1"),
    ("", "No answers are in this file."),
]


@pytest.mark.parametrize(("text", "message"), WRONG)
def test_a_wrong_row_names_its_place_and_nothing_is_written(
    benchmark, tmp_path, text, message
) -> None:
    good = {"id": "1", "domain": "biology", "answers": ["right"]}
    path = written(tmp_path, "a.jsonl", f"{text}\n{json.dumps(good)}" if text else "")
    before = answers(benchmark)
    code, out, err = load(path, benchmark="moths")
    assert (code, out) == (1, "")
    assert message in err
    assert answers(benchmark) == before
    assert not Event.objects.filter(verb=VERB).exists()


def test_domain_and_replace(benchmark, tmp_path) -> None:
    path = written(tmp_path, "a.tsv", "1\tlight\n2\tnew\n")
    assert load(path, benchmark="moths", domain="biology", replace=True)[0] == 0
    assert answers(benchmark) == {
        ("biology", "1"): ["light"],
        ("biology", "2"): ["new"],
        ("physics", "1"): [],
    }


@pytest.mark.parametrize(
    ("args", "options", "message"),
    [
        ((), {}, "either a FILE or --from-reference"),
        (("a.tsv",), {"from_reference": True}, "either a FILE or --from-reference"),
        ((), {"from_reference": True, "replace": True}, "replaces nothing"),
        (("nowhere.tsv",), {}, "there is no such file"),
        ((), {"from_reference": True, "domain": "x"}, "has no domain 'x'"),
    ],
)
def test_wrong_options_are_refused(benchmark, args, options, message) -> None:
    with pytest.raises(CommandError, match=message):
        load(*args, benchmark="moths", **options)


def test_citations_go_and_other_brackets_stay() -> None:
    text = "Light [doc_1][doc 2], warm air [lamps/p.txt] [sic]. Page [p9]."
    assert without_citations(text, {"2", "p9"}) == "Light, warm air [sic]. Page."


def test_an_import_of_bright_pro_is_judged_by_its_reference_answers(db, tmp_path) -> None:
    documents = [{"id": f"lamps/page_{n}.txt", "content": f"Text {n}."} for n in (1, 2)]
    aspect = {
        "id": "biology-1-a1",
        "content": "light",
        "weight": 1,
        "supporting_docs": ["lamps/page_1.txt"],
    }
    for kind, rows in (("examples", [BRIGHT_PRO]), ("aspects", [aspect]), ("documents", documents)):
        (tmp_path / kind).mkdir()
        written(tmp_path / kind, "biology.json", json.dumps(rows))
    call_command(
        "load_benchmark", tmp_path, format="bright_pro", benchmark="pro", stdout=StringIO()
    )
    query = Query.objects.get()
    benchmark = query.domain.benchmark
    run = make_ranking(query, *(each["id"] for each in documents))
    with pytest.raises(Refused, match="Short answers are written on a query's page"):
        build_pool(benchmark=benchmark, runs=[run.run], actor=None)
    assert "1 taken, 0 had answers" in load(benchmark="pro", from_reference=True)[1]
    plain = "They roll their backs to the light. Air rises [see above]."
    assert answers(benchmark) == {("biology", "1"): [plain]}
    pool = build_pool(benchmark=benchmark, runs=[run.run], actor=None)
    assert list(PoolEntry.objects.filter(pool=pool).values_list("passage__pid", flat=True)) == [
        "lamps/page_2.txt"
    ]
    assert "0 taken, 1 had answers" in load(benchmark="pro", from_reference=True)[1]
    # The files still load: what was written here is kept, and said.
    given = BRIGHT_PRO | {"answers": ["of the file"]}
    written(tmp_path / "examples", "biology.json", json.dumps([given]))
    out = StringIO()
    call_command("load_benchmark", tmp_path, format="bright_pro", benchmark="pro", stdout=out)
    assert "odd: short answers that were written here, kept (1)" in out.getvalue()
    assert answers(benchmark) == {("biology", "1"): [plain]}


def test_the_chosen_answer_is_taken_and_never_the_practice_model_s(room) -> None:
    room.write()
    making = MAKING | {"endpoint": "practice", "model": "practice", "practice": True}
    choose_answer(
        answer=record_model_answer(query=room.other, text="Nonsense.", **making),
        actor=room.admin,
    )
    slug = room.benchmark.slug
    Query.objects.update(answers=[])
    counts = json.loads(load(benchmark=slug, from_reference=True, json=True)[1])
    assert counts == {
        "taken": 1,
        "had_answers": 0,
        "no_reference": 0,
        "practice": 1,
        "too_long": 0,
    }
    room.query.refresh_from_db()
    assert room.query.answers[0].endswith("Warm air rises and carries small insects.")


def test_a_write_over_what_nobody_saw_is_refused(benchmark) -> None:
    query = Query.objects.in_benchmark(benchmark).get(qid="2")
    with pytest.raises(Refused, match="Now there are: old"):
        write_answers(query=query, answers=["mine"], actor=None, expected=["older"])
    # The same words again are no conflict.
    write_answers(query=query, answers=["old"], actor=None, expected=["older"])
    assert not Event.objects.filter(verb=VERB).exists()


def test_the_screen_shows_the_reference_answer_and_keeps_what_was_not_touched(room) -> None:
    room.write()
    stored = "Two\nlines"
    Query.objects.filter(pk=room.query.pk).update(answers=[stored, "gone"])
    client = Client()
    client.force_login(room.admin)
    url = room.url(f"queries/{room.query.pk}/short-answers/")
    page = client.get(url + "?from=reference").content.decode()
    assert "Two lines\ngone\nInsects roll their backs towards the light" in page
    sent = {"answers": "Two lines\r\n\r\nlight", "expected": json.dumps([stored, "gone"])}
    assert client.post(url, sent).status_code == 302
    room.query.refresh_from_db()
    assert room.query.answers == [stored, "light"]
    event = Event.objects.get(verb=VERB)
    assert (event.actor, event.data["before"]) == (room.admin, [stored, "gone"])
    # Sent once more from the old page: what is there now is shown, and goes over it the next time.
    again = client.post(url, sent | {"answers": "mine"})
    assert again.status_code == 422
    assert "Somebody changed them meanwhile" in again.content.decode()
    assert json.loads(again.context["form"]["expected"].value()) == [stored, "light"]
    assert client.post(url, sent | {"expected": "3"}).status_code == 422


def test_the_reference_answer_is_kept_from_who_rates_blind(room) -> None:
    room.write()
    room.admin.memberships.update(roles=["admin", "reviewer"])
    url = room.url(f"queries/{room.query.pk}/short-answers/?from=reference")
    client = Client()
    client.force_login(room.admin)
    assert b"Insects roll" in client.get(url).content
    draw_comparison(access=room.access(room.admin), size=2)
    hidden = client.get(url).content
    assert b"Insects roll" not in hidden


def test_the_api_writes_and_refuses(room) -> None:
    client = Client()
    client.force_login(room.admin)
    url = f"/api/b/{room.benchmark.slug}/queries/{room.query.pk}/short-answers/"

    def put(**body):
        return client.put(url, body, content_type="application/json")

    assert put(answers=["a", "a", " b"]).json() == {"answers": ["a", "b"]}
    stale = put(answers=["c"], expected=[])
    assert (stale.status_code, stale.json()["field"]) == (409, "answers")
    assert put(answers="c").status_code == 400
    assert put(answers=[], expected=["a", "b"]).json() == {"answers": []}
