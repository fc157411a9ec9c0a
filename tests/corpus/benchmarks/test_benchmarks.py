"""Screens of benchmarks: mine, a new one, and the overview of one."""

import pytest
from django.test import Client
from django.urls import reverse

from corpus.benchmarks.services import create_benchmark
from corpus.judgments.services import record_judgment
from corpus.models import Benchmark, Domain, Membership, Source
from kit.errors import Refused
from kit.models import Event
from tests.factories import (
    make_benchmark,
    make_gold,
    make_member,
    make_passage,
    make_query,
    make_user,
)
from tests.markup import one_line

pytestmark = pytest.mark.django_db
EVIL = "<script>alert(1)</script>\"'>"
NEW = {"name": "Reef fish", "slug": "reef", "description": "", "licence": ""}


@pytest.fixture
def staff() -> Client:
    user = make_user("staff")
    user.is_staff = True
    user.save()
    return signed_in(user)


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def text(response) -> str:
    return one_line(response)


def test_staff_make_a_benchmark_and_become_its_admin(staff) -> None:
    response = staff.post(reverse("benchmark-new"), NEW)
    assert (response.status_code, response.url) == (302, reverse("label-checks", args=["reef"]))
    assert Membership.objects.values_list("user__username", "roles").get() == ("staff", ["admin"])
    assert Event.objects.filter(verb="create benchmark", scope="reef").count() == 1
    assert "You are asked once" in text(staff.get(response.url))
    page = text(staff.get(reverse("benchmark", args=["reef"])))
    assert "Nothing here yet" in page
    assert f'href="{reverse("imports", args=["reef"])}"' in page


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"slug": "taken"}, "already"),
        ({"slug": "no slug"}, "letters, numbers"),
        ({"name": ""}, "required"),
        ({"slug": "s" * 61}, "60"),
    ],
)
def test_wrong_benchmark_keeps_what_was_typed(staff, changes, message) -> None:
    make_benchmark("taken")
    response = staff.post(reverse("benchmark-new"), NEW | {"licence": "CC0"} | changes)
    assert response.status_code == 422
    assert message in text(response)
    assert 'value="CC0"' in text(response)
    assert Benchmark.objects.count() == 1


def test_only_staff_may_make_one() -> None:
    client = signed_in(make_member(make_benchmark(), "admin", "admin"))
    assert client.get(reverse("benchmark-new")).status_code == 403
    assert client.post(reverse("benchmark-new"), NEW).status_code == 403
    assert reverse("benchmark-new") not in text(client.get(reverse("corpus-home")))
    assert Benchmark.objects.count() == 1


def test_slug_is_given_once_and_leaves_no_membership_behind() -> None:
    make_benchmark("taken")
    with pytest.raises(Refused) as refusal:
        create_benchmark(name="Again", slug="taken", actor=make_user("staff"))
    assert refusal.value.field == "slug"
    assert not Membership.objects.exists()
    assert not Event.objects.exists()


def test_overview_counts_by_domain() -> None:
    benchmark = make_benchmark(domains=("biology", "robotics"))
    query = make_query(benchmark)
    passages = [make_passage(benchmark, f"p{n}", text=None if n else "x") for n in range(3)]
    make_gold(query, *passages[:2])
    record_judgment(query=query, passage=passages[2], label=1, source=Source.DEBATE, provenance={})
    Domain.objects.create(benchmark=benchmark, name="still loading")
    client = signed_in(make_member(benchmark, "reader", "reviewer"))
    page = text(client.get(reverse("benchmark", args=["demo"])))
    row = page.split("<tbody>")[1].split("</tr>")[0]
    cells = [cell.split("<")[0].strip() for cell in row.split(">") if cell[:1].isdigit()]
    assert cells == ["1", "3", "2 without text", "2", "1"]
    assert "still loading" not in page


def test_last_events_are_for_admins_and_tell_no_votes() -> None:
    benchmark = make_benchmark()
    admin = make_member(benchmark, "admin", "admin")
    annotator = make_member(benchmark, "annotator-1", "annotator")
    for verb, actor, scope in [
        ("save aspect", annotator, "demo"),
        ("vote", annotator, "demo#votes"),
        ("label", None, "demo"),
        ("foreign deed", admin, "other"),
    ]:
        Event.objects.create(actor=actor, verb=verb, target_type="x", target_id="1", scope=scope)
    page = text(signed_in(admin).get(reverse("benchmark", args=["demo"])))
    assert "annotator-1: save aspect" in page
    assert ": vote" not in page
    assert ": label" not in page
    assert "foreign deed" not in page
    assert "Recent activity" not in text(
        signed_in(annotator).get(reverse("benchmark", args=["demo"]))
    )


def test_home_lists_my_benchmarks_only() -> None:
    member = make_member(make_benchmark("mine"), "annotator-1", "annotator")
    make_benchmark("other")
    page = text(signed_in(member).get(reverse("corpus-home")))
    assert reverse("benchmark", args=["mine"]) in page
    assert reverse("benchmark", args=["other"]) not in page


def test_hostile_names_are_text() -> None:
    benchmark = make_benchmark(domains=(EVIL,))
    Benchmark.objects.update(name=EVIL, description=EVIL, licence=EVIL)
    client = signed_in(make_member(benchmark, "admin", "admin"))
    for url in (reverse("corpus-home"), reverse("benchmark", args=["demo"]), reverse("home")):
        assert "<script>alert" not in text(client.get(url))


@pytest.mark.parametrize("name", ["corpus-home", "benchmark"])
def test_page_costs_the_same_with_one_and_three_rows(name, django_assert_num_queries) -> None:
    benchmark = make_benchmark()
    member = make_member(benchmark, "admin", "admin")
    client = signed_in(member)
    queries = {"corpus-home": 5, "benchmark": 13}[name]
    url = reverse(name) if name == "corpus-home" else reverse(name, args=["demo"])
    for n in range(3):
        make_query(benchmark, f"q{n}", domain=f"d{n - 1}" if n else "")
        with django_assert_num_queries(queries):
            client.get(url)
        Domain.objects.create(benchmark=benchmark, name=f"d{n}", is_ready=True)
        make_member(make_benchmark(f"b{n}"), "admin", "admin")
