import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from corpus.benchmarks import services as people
from corpus.models import Domain, Membership
from kit.errors import Refused
from kit.models import Event
from tests.factories import make_benchmark, make_member
from tests.markup import one_line

pytestmark = pytest.mark.django_db


@pytest.fixture
def benchmark():
    return make_benchmark(domains=("biology", "robotics"))


@pytest.fixture
def admin(benchmark):
    return make_member(benchmark, "admin", "admin")


def signed_in(user) -> Client:
    client = Client()
    client.force_login(user)
    return client


def test_new_person_gets_account_without_password_and_a_link(benchmark, admin) -> None:
    membership, token = people.add_person(
        benchmark=benchmark, username="annotator-9", roles=["annotator"], actor=admin
    )
    assert not membership.user.has_usable_password()
    assert token
    assert Event.objects.filter(verb="add person", scope="demo", actor=admin).count() == 1


def test_last_admin_stays(benchmark, admin) -> None:
    membership = Membership.objects.get(user=admin)
    with pytest.raises(Refused, match="at least one admin"):
        people.remove_person(membership=membership, actor=admin)
    with pytest.raises(Refused, match="at least one admin"):
        people.change_person(membership=membership, roles=["annotator"], domains=[], actor=admin)
    make_member(benchmark, "second", "admin")
    people.remove_person(membership=membership, actor=admin)
    assert not Membership.objects.filter(user=admin).exists()


def test_no_domain_chosen_means_every_domain(benchmark) -> None:
    free = make_member(benchmark, "free", "annotator")
    bound = make_member(benchmark, "bound", "annotator", domains=("robotics",))
    every = set(Domain.objects.values_list("pk", flat=True))
    robotics = {Domain.objects.get(name="robotics").pk}
    assert Membership.objects.get(user=free).domain_ids() == every
    assert Membership.objects.get(user=bound).domain_ids() == robotics


def test_foreign_domain_is_refused(benchmark, admin) -> None:
    foreign = make_benchmark("other", domains=("law",)).domains.get()
    with pytest.raises(Refused, match="another benchmark"):
        people.add_person(
            benchmark=benchmark, username="x", roles=["annotator"], domains=[foreign], actor=admin
        )
    assert not Membership.objects.filter(user__username="x").exists()


def test_added_person_signs_in_with_the_link_that_is_shown_once(benchmark, admin) -> None:
    client = signed_in(admin)
    response = client.post(
        reverse("people", args=["demo"]), {"username": "annotator-7", "roles": ["annotator"]}
    )
    link = response.context["link"]
    assert link in one_line(response)
    assert response["Cache-Control"] == "no-store, private"
    visitor = Client()
    visitor.post(link)
    assert visitor.get(reverse("benchmark", args=["demo"])).status_code == 200


def test_name_with_odd_letters_is_refused_in_the_form(benchmark, admin) -> None:
    response = signed_in(admin).post(
        reverse("people", args=["demo"]), {"username": "a b<c>", "roles": ["annotator"]}
    )
    assert response.status_code == 422
    assert b"letters, digits" in response.content


@pytest.mark.slow
def test_a_pasted_list_gives_everybody_a_link_or_nobody_an_account(benchmark, admin) -> None:
    client, url = signed_in(admin), reverse("people", args=["demo"])
    names = [f"expert-{n}" for n in range(10)]
    before = Membership.objects.count()
    for wrong in ("expert-3 again", admin.username):
        pasted = {"username": "\n".join([*names, wrong]), "roles": ["annotator"]}
        refused = client.post(url, pasted)
        assert refused.status_code == 422
        assert wrong in one_line(refused)
        assert Membership.objects.count() == before
        assert not User.objects.filter(username="expert-0").exists()
    pasted = {
        "username": "\n".join(names[:5]) + "\r\n, " + ", ".join(names[4:]),
        "roles": ["annotator"],
    }
    links = client.post(url, pasted).context["links"]
    assert list(links) == names
    for name, link in links.items():
        visitor = Client()
        visitor.post(link)
        assert visitor.get("/").wsgi_request.user.username == name
    too_many = {"username": ",".join(f"p{n}" for n in range(101)), "roles": ["annotator"]}
    assert b"at most 100 people" in client.post(url, too_many).content


def test_list_costs_the_same_for_one_and_for_three_people(
    benchmark, admin, django_assert_num_queries
) -> None:
    client = signed_in(admin)
    url = reverse("people", args=["demo"])
    client.get(url)
    with django_assert_num_queries(9):
        client.get(url)
    make_member(benchmark, "second", "annotator", domains=("robotics",))
    make_member(benchmark, "third", "annotator")
    with django_assert_num_queries(9):
        client.get(url)
