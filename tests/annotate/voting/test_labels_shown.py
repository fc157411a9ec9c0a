"""What was said of a pair that people still judge is shown by no list until it is decided."""

import pytest

from annotate.voting.services import cast_vote
from annotate.workspace.gold import discard_passage, undo_verdict
from corpus.judgments.services import record_judgment
from corpus.models import Source
from tests.annotate.world import masked, signed_in
from tests.factories import index_texts, make_gold, make_passage, make_ranking

pytestmark = pytest.mark.django_db


def everything(world, case) -> list[str]:
    """Every place where labels of the pair are listed, for somebody who votes and administers."""
    client = signed_in(world.voters[0])
    ranked = world.ranked
    paths = [
        *(f"judgments/{query}" for query in ("", "?counts=no", "?status=trial")),
        f"judgments/?passage={case.passage_id}",
        f"passages/{case.passage_id}/",
        f"retrieval/{ranked.run_id}/{ranked.query_id}/",
    ]
    pages = [masked(client.get(world.url(path))) for path in paths]
    api = [f"/api/b/garden/judgments/{query}" for query in ("", "?counts=no")]
    return pages + [client.get(path).content.decode() for path in api]


@pytest.fixture
def case(world):
    case = world.case()
    make_gold(case.query, case.passage)
    world.ranked = make_ranking(case.query, case.passage.pid)
    return case


def label(case, source: str, **more: object) -> None:
    pair = {"query": case.query, "passage": case.passage}
    record_judgment(**pair, label=0, source=source, provenance={}, **more)


@pytest.mark.slow
def test_labels_of_an_open_case_change_no_page(world, case) -> None:
    before = everything(world, case)
    label(case, Source.DEBATE)
    label(case, Source.LARA, trial=True)
    assert everything(world, case) == before


@pytest.mark.slow
def test_verdict_that_was_taken_back_is_not_told_to_voters(world, case) -> None:
    before = everything(world, case)
    pair = {"query": case.query, "passage": case.passage, "actor": world.voters[4]}
    discard_passage(**pair, reason="noise")
    assert everything(world, case) != before
    undo_verdict(**pair)
    assert everything(world, case) == before


@pytest.mark.slow
def test_labels_are_shown_once_the_case_is_closed(world, case) -> None:
    label(case, Source.DEBATE)
    before = everything(world, case)
    for voter in world.voters[:3]:
        cast_vote(case=case, voter=voter, label=0)
    after = everything(world, case)
    assert all(old != new for old, new in zip(before[:2], after[:2], strict=True))


@pytest.mark.slow
def test_labels_of_other_pairs_are_shown_once_people_decided(world, case) -> None:
    """A machine's label may still be audited: who votes sees none, others do."""
    before = everything(world, case)
    reader, url = signed_in(world.reviewer), world.url("judgments/?counts=yes")
    read = masked(reader.get(url))
    pair = {"query": case.query, "passage": make_passage(world.benchmark, "another.txt", "biology")}
    record_judgment(**pair, label=0, source=Source.DEBATE, provenance={})
    assert everything(world, case) == before
    assert masked(reader.get(url)) != read
    record_judgment(**pair, label=1, source=Source.EXPERT, provenance={})
    assert everything(world, case)[0] != before[0]


def test_workspace_search_finds_words_and_ids(world) -> None:
    make_passage(world.benchmark, "hail/1", "weather", text="Moths and hail.")
    index_texts(world.benchmark)
    client = signed_in(world.voters[0])

    def found(words: str) -> list[str]:
        page = client.get(world.url(f"queries/{world.query.pk}/"), {"find": words})
        return [each.pid for each in page.context["found"]]

    assert found("moths bulb") == ["lamps/page_3.txt"]
    assert found("lamps/pa") == ["lamps/page_3.txt"]
    assert found("hail") == []  # of another domain
