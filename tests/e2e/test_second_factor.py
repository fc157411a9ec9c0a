"""A second factor in a browser: set up with the secret that the page shows, then asked for."""

import base64
import hmac
import re
import struct
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.bench.server import Assay
from tests.e2e.conftest import soon_running

pytestmark = pytest.mark.e2e
WORDS = "a-long-and-odd-phrase-77"


def app_shows(secret: str, later: int = 0) -> str:
    """What an authenticator app shows (RFC 6238)."""
    step = int(time.time()) // 30 + later
    found = hmac.digest(base64.b32decode(secret), struct.pack(">Q", step), "sha1")
    (number,) = struct.unpack(">I", found[found[-1] & 15 :][:4])
    return f"{(number & 0x7FFFFFFF) % 10**6:06}"


@pytest.fixture
def strict(tmp_path: Path):
    """An Assay that asks admins for a second factor."""
    with soon_running(tmp_path, REQUIRE_SECOND_FACTOR="staff") as running:
        yield running


def sign_in(page: Page, words: str) -> None:
    page.get_by_label("Username").fill("admin")
    page.get_by_label("Password").fill(words)
    page.get_by_role("button", name="Sign in").click()


def test_an_admin_sets_up_the_factor_and_comes_back_with_it(strict: Assay, visit, axe) -> None:
    page = visit()
    page.goto(strict.link("admin"))
    page.get_by_role("button", name="Sign in").click()
    page.get_by_label("New password", exact=True).fill(WORDS)
    page.get_by_label("New password confirmation").fill(WORDS)
    page.get_by_role("button", name="Save the password").click()
    # Nothing of the benchmark is shown before.
    page.goto(f"{strict.url}/b/garden-weather/")
    expect(page.get_by_text("asks staff and admins for a second factor")).to_be_visible()
    secret = page.get_by_label("type this secret").input_value()
    assert axe(page) == []
    page.get_by_label("Code", exact=True).fill("123")
    page.get_by_role("button", name="Set up").click()
    expect(page.get_by_text("not the code that the app shows")).to_be_visible()
    page.get_by_label("Code", exact=True).fill(app_shows(secret, later=-1))
    page.keyboard.press("Control+Enter")
    recovery = page.get_by_role("textbox", name="Recovery codes").input_value().split("\n")
    assert len(recovery) == 10
    assert axe(page) == []
    page.goto(f"{strict.url}/b/garden-weather/")
    expect(page.get_by_role("heading", name=re.compile("Garden"))).to_be_visible()

    for code in (app_shows(secret), recovery[0]):
        back = visit()
        back.goto(f"{strict.url}/sign-in/")
        sign_in(back, WORDS)
        expect(back.get_by_role("heading", name="Your code")).to_be_visible()
        assert axe(back) == []
        back.get_by_label("Code", exact=True).fill(code)
        back.get_by_role("button", name="Sign in").click()
        expect(back.get_by_role("link", name="Garden & weather").first).to_be_visible()
