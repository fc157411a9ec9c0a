"""The admin of one benchmark never gets into an account that reaches further than it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.urls import reverse

from corpus.benchmarks import services as people
from corpus.models import Invitation, Membership
from kit.account.links import choose_password, create_link, find_link, use_link
from kit.errors import Refused
from kit.models import Event, SignInLink
from tests.factories import make_benchmark, make_member, make_user, used_by
from tests.markup import one_line

pytestmark = pytest.mark.django_db

WORDS = "a-long-and-odd-phrase-77"


@pytest.fixture
def here():
    return make_benchmark("here")


@pytest.fixture
def there():
    return make_benchmark("there")


@pytest.fixture
def admin(here):
    return make_member(here, "admin", "admin")


def add(benchmark, username="annotator-9", roles=("annotator",)):
    return people.add_person(benchmark=benchmark, username=username, roles=roles, actor=None)


def with_password(user: User) -> User:
    choose_password(user=user, password=WORDS)
    return user


def test_account_of_another_benchmark_joins_once_it_has_a_password(here, there) -> None:
    """Who made its link could answer in its place; and the link stays the person's way in."""
    member, link = add(here)
    invitation, token = add(there)
    assert (invitation.user, token) == (member.user, "")
    with pytest.raises(Refused, match="Choose a password under Account first"):
        people.accept_invitation(invitation=invitation, actor=member.user)
    assert used_by(link) == member.user
    mine = Client()
    mine.force_login(with_password(member.user))
    joined = mine.post(reverse("api-invitation", args=[invitation.pk]))
    assert (joined.status_code, joined.json()["roles"]) == (200, ["annotator"])


def test_who_has_no_password_is_led_to_it_by_the_invitation(here, there) -> None:
    user = add(here)[0].user
    admin, mine = Client(), Client()
    admin.force_login(make_member(there, "boss", "admin"))
    mine.force_login(user)
    posted = {"username": "annotator-9", "roles": ["annotator"]}
    assert admin.post(reverse("people", args=["there"]), posted).status_code == 302
    home = one_line(mine.get(reverse("corpus-home")))
    assert "Choose a password to join" in home
    assert "Join<" not in home


def test_account_with_a_password_is_asked_and_gets_no_link(here, there) -> None:
    user = with_password(add(here)[0].user)
    invitation, token = add(there)
    assert (invitation.user, token) == (user, "")
    assert not Membership.objects.filter(benchmark=there).exists()
    joined = people.accept_invitation(invitation=invitation, actor=user)
    assert (joined.benchmark, joined.roles) == (there, ["annotator"])
    verbs = Event.objects.filter(scope="there").order_by("pk").values_list("verb", flat=True)
    assert list(verbs) == ["invite person", "accept invitation", "add person"]


def test_invitation_is_answered_at_home_declined_or_withdrawn(here, there) -> None:
    user = with_password(add(here)[0].user)
    boss = make_member(there, "boss", "admin")
    admin, mine = Client(), Client()
    admin.force_login(boss)
    mine.force_login(user)

    def invite() -> int:
        posted = {"username": "annotator-9", "roles": ["annotator"]}
        page = one_line(admin.post(reverse("people", args=["there"]), posted, follow=True))
        assert "annotator-9 was asked to join" in page
        assert "boss asks you to join <b>There</b>" in one_line(mine.get(reverse("corpus-home")))
        assert mine.get(reverse("benchmark", args=["there"])).status_code == 404
        return Invitation.objects.get().pk

    mine.post(reverse("invitation-answer", args=[invite(), "decline"]))
    assert not Invitation.objects.exists()
    admin.post(reverse("invitation-withdraw", args=["there", invite()]))
    assert not Invitation.objects.exists()
    pk = invite()
    assert admin.post(reverse("invitation-answer", args=[pk, "accept"])).status_code == 404
    mine.post(reverse("invitation-answer", args=[pk, "accept"]))
    assert mine.get(reverse("benchmark", args=["there"])).status_code == 200


def test_joining_another_benchmark_ends_links_that_lie_about(here, there) -> None:
    user = with_password(add(here)[0].user)
    token = create_link(user=user)  # as whoever runs the site may make one
    add(there)
    assert use_link(token) is None


def test_account_that_no_benchmark_made_is_asked(here) -> None:
    user = make_user("known")
    assert add(here, "known")[0] == Invitation.objects.get(user=user)


def test_person_who_left_comes_back_with_a_fresh_link(here) -> None:
    first, old = add(here)
    people.remove_person(membership=first, actor=None)
    again, token = add(here)
    assert find_link(old) is None
    assert used_by(token) == again.user


def test_person_who_left_another_benchmark_is_out_of_reach(here, there) -> None:
    """Their account holds what they did there."""
    first, _ = add(here)
    people.remove_person(membership=first, actor=None)
    assert add(there)[1] == ""
    assert not Membership.objects.exists()


@pytest.mark.parametrize("reach", ["staff", "superuser", "password", "elsewhere", "not made here"])
def test_no_new_link_to_an_account_that_reaches_further(here, there, admin, reach) -> None:
    user = make_user("annotator-9") if reach == "not made here" else add(here)[0].user
    if reach == "not made here":
        make_member(here, "annotator-9", "annotator")
    if reach == "password":
        user.set_password(WORDS)
    if reach == "elsewhere":
        make_member(there, "annotator-9", "annotator")
    user.is_staff, user.is_superuser = reach == "staff", reach == "superuser"
    user.save()
    membership = Membership.objects.get(user=user, benchmark=here)
    SignInLink.objects.all().delete()
    with pytest.raises(Refused, match="reaches further"):
        people.renew_link(membership=membership, actor=admin, site="")
    assert not SignInLink.objects.exists()


def test_account_that_joined_with_a_password_is_not_of_our_making(here, admin) -> None:
    """Also where whoever runs the site takes the password away again."""
    user = with_password(make_user("annotator-9"))
    membership, _ = add(here)
    user.set_unusable_password()
    user.save()
    with pytest.raises(Refused):
        people.renew_link(membership=membership, actor=admin, site="")


def test_new_link_for_an_account_of_our_making(here, admin) -> None:
    membership, old = add(here)
    token = people.renew_link(membership=membership, actor=admin, site="")
    assert find_link(old) is None
    assert used_by(token) == membership.user
    assert Event.objects.filter(verb="renew sign-in link", scope="here", actor=admin).count() == 1


def test_name_that_means_an_account_in_other_letters_is_that_account(here) -> None:
    """Full-width letters are the same name to the site, not a fault of the server."""
    with_password(make_user("annotator-9"))
    wide = "".join(chr(ord(letter) + 0xFEE0) for letter in "annotator") + "-9"
    assert add(here, wide)[0].user.username == "annotator-9"
    assert User.objects.count() == 1


@pytest.mark.parametrize(
    "name",
    ["Annotator-9", "annotator.9", "\u0251nnotator-9", "annota\u0167or-9", "\u00e1nnotator-9"],
)
def test_a_new_name_that_reads_like_one_that_is_there_is_refused(here, name) -> None:
    with_password(make_user("annotator-9"))
    with pytest.raises(Refused, match="reads like annotator-9"):
        add(here, name)
    assert add(here, "annotator-8")[0].user.username == "annotator-8"


def test_invitation_ends_with_its_maker_and_with_another_way_in(here, there) -> None:
    user = with_password(add(here)[0].user)
    boss = make_member(there, "boss", "admin")
    make_member(there, "vice", "admin")
    asked = {"benchmark": there, "username": "annotator-9", "roles": ["admin"]}
    invitation, _ = people.add_person(**asked, actor=boss)
    people.remove_person(membership=Membership.objects.get(user=boss), actor=None)
    with pytest.raises(Refused, match="no admin any more"):
        people.accept_invitation(invitation=invitation, actor=user)
    people.join(benchmark=there, user=user, roles=["annotator"], domains=[], actor=None)
    with pytest.raises(Refused, match="is over"):
        people.accept_invitation(invitation=invitation, actor=user)
    assert Membership.objects.get(user=user, benchmark=there).roles == ["annotator"]
