"""`[doc_N]` in an answer is the Nth of the query's gold as a release lists it, for everybody."""

from importlib import import_module

import pyarrow.parquet as pq
import pytest
from django.apps import apps
from django.test import Client
from django.utils import timezone

from annotate.answers.evidence import check, material_of
from annotate.answers.services import write_answer
from annotate.drafts.models import Draft
from annotate.models import ReferenceAnswer
from annotate.workspace.gold import assign_passage, discard_passage
from corpus.models import Passage, Query, Source
from debate.answers.services import task_of
from tests.evaluation.conftest import label, make_aspect, make_support, release_into
from tests.factories import make_benchmark, make_gold, make_member, make_passage, make_query

pytestmark = pytest.mark.django_db
renumbering = import_module("annotate.migrations.0002_citation_numbers")
naming = import_module("annotate.migrations.0008_citation_ids")
# Aspect by aspect, and in each as they were assigned.
LISTED = ["page_9.txt", "page_10.txt", "page_2.txt"]
BEFORE = sorted(LISTED)  # 10, 2, 9


@pytest.fixture
def query() -> Query:
    benchmark = make_benchmark("cited")
    query = make_query(benchmark, "1")
    first = make_aspect(query, 1)
    # Shown last, but listed first: a release goes by the aspects' numbers.
    type(first).objects.filter(pk=first.pk).update(position=9)
    second = make_aspect(query, 2)
    by_name = {name: make_passage(benchmark, name) for name in LISTED}
    make_gold(query, *by_name.values())
    for aspect, name in ((second, LISTED[2]), (first, LISTED[0]), (first, LISTED[1])):
        make_support(aspect, by_name[name])
    return query


def published(query: Query, folder) -> list[str]:
    release_into(query.domain.benchmark, folder)
    rows = pq.read_table(folder / f"examples/{query.domain.name}.parquet").to_pylist()
    return next(row["gold_ids"] for row in rows if str(row["id"]) == query.qid)


def test_release_checks_editor_and_prompt_number_alike(query, tmp_path) -> None:
    assert published(query, tmp_path / "out") == LISTED
    material = material_of(query)
    assert material.evidence.gold == LISTED
    assert check(material, "So [doc_1]. Then [doc_3].").cited == (LISTED[0], LISTED[2])
    assert {each.doc: each.pid for each in task_of(material).passages} == {
        f"doc_{number}": pid for number, pid in enumerate(LISTED, start=1)
    }
    client = Client()
    client.force_login(make_member(query.domain.benchmark, "annotator-1", "annotator"))
    page = client.get(f"/b/cited/queries/{query.pk}/answer/")
    cards = page.context["cards"]
    assert [(card["number"], card["passage"].pid) for card in cards] == list(
        enumerate(LISTED, start=1)
    )


def test_a_passage_without_text_keeps_its_number(query) -> None:
    Passage.objects.filter(pid=LISTED[0]).update(text=None)
    assert [each.doc for each in task_of(material_of(query)).passages] == ["doc_2", "doc_3"]


def test_without_aspects_the_expert_view_is_counted(query, tmp_path) -> None:
    benchmark = query.domain.benchmark
    bare = make_query(benchmark, "2", reference_answer="So [doc_2].")
    kept, refused = make_passage(benchmark, "c"), make_passage(benchmark, "a")
    make_gold(bare, kept, refused)
    label(bare, refused, 0, Source.EXPERT)
    hole, doubted = make_passage(benchmark, "b"), make_passage(benchmark, "d")
    label(bare, hole, 1, Source.DEBATE)
    make_gold(bare, doubted)
    # A debate's 0 takes no original label away.
    label(bare, doubted, 0, Source.DEBATE)
    assert published(bare, tmp_path / "out") == ["b", "c", "d"]
    assert material_of(bare).evidence.gold == ["b", "c", "d"]
    assert check(material_of(bare), "So [doc_2].").cited == ("c",)


def test_a_written_answer_goes_on_citing_what_it_cited(query, tmp_path) -> None:
    author = make_member(query.domain.benchmark, "annotator-1", "annotator")
    told = f"So [{LISTED[1]}]. Then [{LISTED[2]}], not [doc_4]."
    given = {"query": query, "actor": author, "text": "So [doc_2]. Then [doc_3], not [doc_4]."}
    answer = write_answer(expected=0, **given)
    assert answer.text == told
    # The same again is the same answer.
    assert write_answer(expected=1, **given) == answer
    # One passage more and one fewer would each have made other passages of the numbers.
    aspect = query.aspects.get(k=1)
    more = make_passage(query.domain.benchmark, "page_7.txt")
    assign_passage(query=query, passage=more, aspect=aspect, actor=author)
    gone = Passage.objects.get(pid=LISTED[0])
    discard_passage(query=query, passage=gone, reason="noise", actor=author)
    material = material_of(query)
    assert material.evidence.gold == [LISTED[1], "page_7.txt", LISTED[2]]
    assert check(material, answer.text).cited == (LISTED[1], LISTED[2])
    # What a discarded passage supported is an error, and no other passage's.
    discard_passage(
        query=query, passage=Passage.objects.get(pid=LISTED[2]), reason="noise", actor=author
    )
    wrong = check(material_of(query), answer.text).errors
    assert [each.cited for each in wrong] == [LISTED[2], "doc_4"]


def test_numbers_that_were_kept_become_ids(query) -> None:
    author = make_member(query.domain.benchmark, "annotator-1", "annotator")
    bare = make_query(query.domain.benchmark, "2", reference_answer="So [doc_2], [doc_3].")
    kept, refused, hole = (make_passage(query.domain.benchmark, pid) for pid in "cab")
    make_gold(bare, kept, refused)
    label(bare, refused, 0, Source.EXPERT)
    label(bare, hole, 1, Source.DEBATE)
    Query.objects.filter(pk=query.pk).update(reference_answer="[doc_1], [doc doc3]; [doc_4].")
    rows = [
        ReferenceAnswer.objects.create(
            query=query, author="person", created_by=author, version=n, text=f"{n} [doc_{n}].",
            stands=n == 2,
        )
        for n in (1, 2)
    ]  # fmt: skip
    naming.rename(apps, None)
    for each in (query, bare, *rows):
        each.refresh_from_db()
    assert query.reference_answer == f"[{LISTED[0]}], [{LISTED[2]}]; [doc_4]."
    # Without aspects the expert view counts, by id: b, c.
    assert bare.reference_answer == "So [c], [doc_3]."
    assert [each.text for each in rows] == [f"1 [{LISTED[0]}].", f"2 [{LISTED[1]}]."]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # 1, 2 and 3 were page_10, page_2 and page_9: places 2, 3 and 1 of the release's list.
        ("So [doc_1][doc_2]; [doc3] and [doc doc_3].", "So [doc_2][doc_3]; [doc_1] and [doc_1]."),
        ("So [doc_4], [doc_0], [see doc_1], [page_2.txt].", None),
        ("No citation: doc_1.", None),
    ],
)
def test_old_numbers_go_on_citing_what_they_cited(query, old, new) -> None:
    author = make_member(query.domain.benchmark, "annotator-1", "annotator")
    given = {"query": query, "author": "person", "created_by": author}
    answer = ReferenceAnswer.objects.create(version=1, text=old, **given)
    Query.objects.filter(pk=query.pk).update(reference_answer="Came with [doc_1].")
    begun = ReferenceAnswer.objects.create(
        version=2, text=f"Came with [doc_1]. {old}", begun_from="import", stands=False, **given
    )
    place = f"/b/cited/queries/{query.pk}/answer/"
    draft = Draft.objects.create(
        user=author, place=place, name="text", text=old, updated_at=timezone.now()
    )
    renumbering.renumber(apps, None)
    for each in (answer, begun, draft, query):
        each.refresh_from_db()
    new = new or old
    assert (answer.text, draft.text) == (new, new)
    # What came with the query counts as its file does, also where an answer took it over.
    assert query.reference_answer == "Came with [doc_1]."
    assert begun.text.startswith("Came with [doc_1]. ")
    if new != old:
        cited = check(material_of(query), new).cited
        assert cited == (BEFORE[0], BEFORE[1], BEFORE[2])
