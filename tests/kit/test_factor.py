"""The second factor: set up, asked for after password and link, lost, required."""

import base64
import json
from threading import Thread

import pytest
import segno
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from kit.account import factor
from kit.account.links import create_link
from kit.models import Event, SecondFactor, SignInLink
from tests.factories import make_benchmark, make_member, make_token
from tests.markup import one_line

pytestmark = pytest.mark.django_db
WORDS = "a-long-and-odd-phrase-77"


@pytest.fixture
def ann() -> User:
    return User.objects.create_user("ann", password=WORDS)


def says_password(name: str = "ann", to: str = "") -> Client:
    browser = Client()
    url = reverse("sign-in") + (f"?next={to}" if to else "")
    browser.said = browser.post(url, {"username": name, "password": WORDS})
    return browser


def is_in(browser: Client) -> bool:
    return browser.get(reverse("glossary")).status_code == 200


def give_factor(user: User) -> list[str]:
    """As by the page, with the code before the present one: the present one is still to be used."""
    salt = factor.new_salt()
    return factor.set_up(user=user, salt=salt, code=factor.code_now(salt, later=-1))


def code_of(user: User, *, later: int = 0) -> str:
    return factor.code_now(SecondFactor.objects.get(user=user).salt, later=later)


def say_code(browser: Client, code: str):
    return browser.post(reverse("sign-in-code"), {"code": code})


def verbs() -> list[str]:
    return list(Event.objects.order_by("pk").values_list("verb", flat=True))


def test_a_factor_is_set_up_by_a_code_and_its_recovery_codes_are_shown_once(ann, client) -> None:
    client.force_login(ann)
    elsewhere = says_password()
    assert "Set up" in one_line(client.get(reverse("account")))
    page = client.get(reverse("second-factor"))
    secret, salt = page.context["secret"], client.session["second_factor_shown"]
    assert f"secret={secret}&amp;issuer=Assay" in one_line(page)
    assert len(base64.b32decode(secret)) == 20
    assert segno.make(page.context["link"], micro=False).svg_inline(scale=4, light="#fff") in (
        page.content.decode()
    )
    wrong = client.post(reverse("second-factor"), {"code": "000000000"})
    assert (wrong.status_code, wrong.context["secret"]) == (422, secret)
    assert not SecondFactor.objects.exists()
    made = client.post(reverse("second-factor"), {"code": factor.code_now(salt)})
    codes = made.context["codes"]
    assert len(set(codes)) == 10
    assert all(each in one_line(made) for each in codes)
    again = one_line(client.get(reverse("second-factor")))
    assert "Recovery codes left: 10" in again
    assert not [each for each in codes if each in again]
    assert secret not in again
    assert is_in(client)
    assert not is_in(elsewhere)  # it began without a code
    assert verbs() == ["set up second factor"]


def test_the_database_holds_neither_secret_nor_recovery_codes(ann) -> None:
    codes = give_factor(ann)
    row = SecondFactor.objects.values().get()
    held = json.dumps(row, default=str) + json.dumps(list(Event.objects.values()), default=str)
    assert factor.app_secret(row["salt"]) not in held
    assert not [each for each in codes if each in held or each.replace("-", "") in held]


def test_after_the_password_the_code_is_asked_for_and_leads_where_one_was_going(ann) -> None:
    give_factor(ann)
    browser = says_password(to=reverse("account"))
    assert browser.said.headers["Location"] == reverse("sign-in-code")
    assert not is_in(browser)
    before = browser.session.session_key
    assert say_code(browser, "12345").status_code == 422
    assert not is_in(browser)
    assert say_code(browser, code_of(ann)).headers["Location"] == reverse("account")
    assert is_in(browser)
    assert browser.session.session_key != before


def test_after_a_link_the_code_is_asked_for_and_its_decisions_are_still_marked(ann) -> None:
    give_factor(ann)
    maker = User.objects.create_superuser("root")
    url = reverse("sign-in-link", args=[create_link(user=ann, made_by=maker)])
    browser = Client()
    assert browser.post(url).headers["Location"] == reverse("sign-in-code")
    assert not is_in(browser)
    assert Client().post(url).status_code == 404
    say_code(browser, code_of(ann))
    assert is_in(browser)
    assert browser.session["link_by_other"] == SignInLink.objects.get().pk


def test_a_code_lets_in_once_and_none_before_it(ann) -> None:
    give_factor(ann)
    used = code_of(ann, later=1)
    assert say_code(says_password(), used).status_code == 302
    for old in (used, code_of(ann)):
        refused = say_code(says_password(), old)
        assert refused.status_code == 422
        assert "used already" in one_line(refused)


def test_a_recovery_code_lets_in_once_however_it_is_typed(ann) -> None:
    code, other, *_ = give_factor(ann)
    assert say_code(says_password(), f" {code.upper().replace('-', ' ')} ").status_code == 302
    assert say_code(says_password(), code).status_code == 422
    assert say_code(says_password(), other).status_code == 302
    used = Event.objects.filter(verb="use recovery code").order_by("pk")
    assert [each.data for each in used] == [{"left": 9}, {"left": 8}]


def test_codes_are_counted_like_passwords_and_staff_lift_the_limit(ann) -> None:
    give_factor(ann)
    for _ in range(5):
        assert say_code(says_password(), "nothing").status_code == 422
    good = code_of(ann)
    waits = says_password()
    refused = say_code(waits, good)
    assert refused.status_code == 429
    assert int(refused.headers["Retry-After"]) > 60
    staff = Client()
    staff.force_login(User.objects.create_user("staff", is_staff=True))
    [(row, who)] = staff.get(reverse("sign-in-requests")).context["locked"]
    assert who == "ann"
    staff.post(reverse("sign-in-lift", args=[row.pk]))
    assert say_code(waits, good).status_code == 302


def test_nobody_says_a_code_who_said_no_password_or_whose_password_changed(ann) -> None:
    give_factor(ann)
    assert say_code(Client(), code_of(ann)).headers["Location"] == reverse("sign-in")
    browser = says_password()
    ann.set_password("another-odd-phrase-78")
    ann.save()
    assert say_code(browser, code_of(ann)).headers["Location"] == reverse("sign-in")
    browser = says_password()
    assert browser.said.status_code == 200  # the old password


def test_a_code_that_waited_ten_minutes_is_no_more_asked_for(ann) -> None:
    give_factor(ann)
    browser = says_password()
    session = browser.session
    session["waits_for_code"] |= {"at": session["waits_for_code"]["at"] - 601}
    session.save()
    assert say_code(browser, code_of(ann)).headers["Location"] == reverse("sign-in")
    assert not is_in(browser)


@pytest.mark.django_db(transaction=True)
def test_of_two_who_say_one_code_at_once_one_gets_in(ann) -> None:
    give_factor(ann)
    code, said = code_of(ann), list[bool]()

    def say() -> None:
        said.append(factor.accept_code(user=ann, code=code))
        connection.close()

    threads = [Thread(target=say) for _ in range(4)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert sorted(said) == [False, False, False, True]


def test_turning_off_and_new_codes_ask_for_the_password(ann) -> None:
    first = give_factor(ann)[0]
    browser = says_password()
    say_code(browser, code_of(ann))
    url = reverse("second-factor-change")
    assert browser.post(url, {"password": "wrong", "change": "off"}).status_code == 422
    made = browser.post(url, {"password": WORDS, "change": "codes"})
    assert len(made.context["codes"]) == 10
    assert say_code(says_password(), first).status_code == 422
    browser.post(url, {"password": WORDS, "change": "off"})
    assert is_in(says_password())
    assert verbs() == ["set up second factor", "make recovery codes", "turn off second factor"]
    assert browser.post(url, {"password": WORDS, "change": "off"}).status_code == 404


def test_who_has_no_password_turns_it_off_by_a_code(ann, client) -> None:
    ann.set_unusable_password()
    ann.save()
    codes = give_factor(ann)
    client.force_login(ann)
    url = reverse("second-factor-change")
    assert client.post(url, {"change": "off"}).status_code == 422
    assert client.post(url, {"code": codes[0], "change": "off"}).status_code == 302
    assert not SecondFactor.objects.exists()


def test_the_factor_of_who_lost_it_is_taken_by_a_superuser_and_a_superusers_by_command(ann) -> None:
    give_factor(ann)
    browser = says_password()
    say_code(browser, code_of(ann))
    root = User.objects.create_superuser("root", password=WORDS)
    give_factor(root)
    other, staff = Client(), Client()
    other.force_login(User.objects.create_superuser("other"))
    staff.force_login(User.objects.create_user("staff", is_staff=True))
    listed = {
        each["username"]: each["has_second_factor"]
        for each in staff.get(reverse("api-accounts")).json()["results"]
    }
    assert listed == {"ann": True, "root": True, "other": False, "staff": False}
    found = staff.get(reverse("site-people"), {"factor": "no"}).context["table"].rows
    assert [each.username for each in found] == ["other", "staff"]
    of_ann = reverse("site-person-verb", args=[ann.pk, "take-factor"])
    staff.post(of_ann)
    assert staff.post(reverse("api-account-take-factor", args=[ann.pk])).status_code == 403
    assert SecondFactor.objects.count() == 2
    assert "Take the second factor" in one_line(other.get(reverse("site-person", args=[ann.pk])))
    other.post(of_ann)
    assert not is_in(browser)
    assert is_in(says_password())
    refused = other.post(reverse("api-account-take-factor", args=[root.pk]))
    assert "from the terminal alone" in refused.json()["detail"]
    call_command("person", "root", "--take-factor")
    assert is_in(says_password("root"))
    with pytest.raises(CommandError, match="no second factor"):
        call_command("person", "root", "--take-factor")
    taken = Event.objects.filter(verb="take second factor").order_by("pk")
    assert list(taken.values_list("target_id", "actor__username")) == [
        (str(ann.pk), "other"),
        (str(root.pk), None),
    ]


def test_an_erased_person_has_no_factor_any_more(ann) -> None:
    give_factor(ann)
    call_command("person", "ann", "--erase")
    assert not SecondFactor.objects.exists()


def test_a_token_is_asked_for_no_code(ann) -> None:
    give_factor(ann)
    script = Client(headers={"Authorization": f"Token {make_token(ann)}"})
    assert script.get(reverse("api-benchmarks")).status_code == 200


def test_where_it_is_required_staff_do_nothing_before_they_have_one(settings) -> None:
    settings.REQUIRE_SECOND_FACTOR = "staff"
    staff = User.objects.create_user("ann", password=WORDS, is_staff=True)
    script = Client(headers={"Authorization": f"Token {make_token(staff)}"})
    browser, page = says_password(), reverse("second-factor")
    for name in ("home", "site-people", "account"):
        assert browser.get(reverse(name)).headers["Location"] == page
    part = browser.get(reverse("account"), headers={"HX-Request": "true"})
    assert part.headers["HX-Redirect"] == page
    assert browser.get(reverse("api-accounts")).status_code == 403
    assert script.get(reverse("api-accounts")).status_code == 200
    assert browser.get(reverse("choose-password")).status_code == 302  # as ever: there is one
    shown = browser.get(page)
    assert "asks staff and admins" in one_line(shown)
    salt = browser.session["second_factor_shown"]
    browser.post(page, {"code": factor.code_now(salt, later=-1)})
    assert browser.get(reverse("site-people")).status_code == 200
    browser = says_password()
    say_code(browser, code_of(staff))
    assert browser.get(reverse("site-people")).status_code == 200
    assert browser.post(reverse("sign-out")).headers["Location"] == reverse("sign-in")


def test_where_it_is_required_admins_enter_no_benchmark_without_and_others_do(settings) -> None:
    settings.REQUIRE_SECOND_FACTOR = "staff"
    benchmark = make_benchmark()
    overview = reverse("benchmark", args=[benchmark.slug])
    api = reverse("api-benchmark", args=[benchmark.slug])
    admin, annotator = Client(), Client()
    boss = make_member(benchmark, "boss", "admin")
    admin.force_login(boss)
    annotator.force_login(make_member(benchmark, "annotator", "annotator"))
    assert admin.get(overview).headers["Location"] == reverse("second-factor")
    refused = admin.get(api)
    assert refused.status_code == 403
    assert "second factor" in refused.json()["detail"]
    assert annotator.get(overview).status_code == 200
    script = Client(headers={"Authorization": f"Token {make_token(boss)}"})
    assert script.get(api).status_code == 200
    admin.get(reverse("second-factor"))
    salt = admin.session["second_factor_shown"]
    admin.post(reverse("second-factor"), {"code": factor.code_now(salt)})
    assert admin.get(overview).status_code == 200
