"""Tokens let in whom they were given to, and nobody else."""

import pytest
from django.test import Client
from rest_framework.authtoken.models import Token

from tests.factories import make_benchmark, make_member

pytestmark = pytest.mark.django_db


@pytest.fixture
def token() -> Token:
    person = make_member(make_benchmark("garden"), "ann", "annotator")
    return Token.objects.create(user=person)


def ask(key: str) -> tuple[int, str]:
    answer = Client(headers={"Authorization": f"Token {key}"}).get("/api/b/garden/cases/next/")
    return answer.status_code, answer.json().get("detail", "")


def test_token_lets_its_person_in(token) -> None:
    assert ask(token.key) == (200, "")


@pytest.mark.parametrize("wrong", ["nobodys", "", "two words"])
def test_other_words_let_nobody_in(token, wrong) -> None:
    status, detail = ask(wrong)
    assert status == 401
    assert detail.startswith("Invalid token")


def test_token_of_somebody_who_left_or_was_taken_back_lets_nobody_in(token) -> None:
    token.user.is_active = False
    token.user.save()
    assert ask(token.key) == (401, "User inactive or deleted.")
    token.delete()
    assert ask(token.key) == (401, "Invalid token.")
