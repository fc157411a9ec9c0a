"""Optimistic locking on a row that people edit."""

import threading

import pytest
from django.db import connection
from django.utils import timezone

from annotate.models import Aspect
from kit.errors import Conflict
from tests.factories import make_benchmark, make_query, make_user


@pytest.fixture
def aspect() -> Aspect:
    query = make_query(make_benchmark())
    return Aspect.objects.create(query=query, k=1, position=1, content="first")


@pytest.mark.django_db
def test_write_on_the_version_that_was_read_counts_up(aspect) -> None:
    writer, before = make_user("annotator-1"), timezone.now()
    written = aspect.write(expected=1, actor=writer, content="second", weight=5)
    assert (written.version, written.content, written.weight) == (2, "second", 5)
    assert written.updated_by == writer
    assert before <= written.updated_at <= timezone.now()
    assert Aspect.objects.get() == written


@pytest.mark.django_db
def test_stale_write_changes_nothing_and_carries_the_present_row(aspect) -> None:
    first, second = make_user("annotator-1"), make_user("annotator-2")
    aspect.write(expected=1, actor=first, content="theirs")
    with pytest.raises(Conflict) as conflict:
        aspect.write(expected=1, actor=second, content="mine")
    present = conflict.value.current
    assert (present.content, present.version, present.updated_by) == ("theirs", 2, first)
    assert Aspect.objects.values_list("content", "version", "updated_by").get() == (
        "theirs",
        2,
        first.pk,
    )


@pytest.mark.django_db
@pytest.mark.parametrize("expected", [0, 2, 99, -1, 10**30])
def test_version_that_was_never_read_is_stale(aspect, expected: int) -> None:
    with pytest.raises(Conflict):
        aspect.write(expected=expected, actor=None, content="mine")
    assert Aspect.objects.get().content == "first"


@pytest.mark.django_db
def test_loser_goes_on_from_the_present_version(aspect) -> None:
    aspect.write(expected=1, actor=None, content="theirs")
    try:
        aspect.write(expected=1, actor=None, content="mine")
    except Conflict as conflict:
        aspect.write(expected=conflict.current.version, actor=None, content="both")
    assert Aspect.objects.values_list("content", "version").get() == ("both", 3)


@pytest.mark.django_db
def test_write_touches_its_own_row_only(aspect) -> None:
    other = Aspect.objects.create(query=aspect.query, k=2, position=2, content="other")
    aspect.write(expected=1, actor=None, content="second")
    other.refresh_from_db()
    assert (other.content, other.version) == ("other", 1)


@pytest.mark.django_db(transaction=True)
def test_of_writers_at_the_same_moment_exactly_one_wins(aspect) -> None:
    outcomes: list[str] = []
    together = threading.Barrier(6)

    def write(name: str) -> None:
        together.wait()
        try:
            outcomes.append(aspect.write(expected=1, actor=None, content=name).content)
        except Conflict as conflict:
            outcomes.append(f"lost to {conflict.current.content}")
        finally:
            connection.close()

    writers = [threading.Thread(target=write, args=[f"w{n}"]) for n in range(6)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(240)
        assert not writer.is_alive(), outcomes
    stored = Aspect.objects.get()
    assert stored.version == 2
    assert sorted(outcomes) == sorted([stored.content] + [f"lost to {stored.content}"] * 5)
