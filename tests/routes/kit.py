"""Rows of the routes of The way in, the account and the API's page."""

from tests.routes.rows import EVERYBODY_SIGNED_IN, PUBLIC, Row, get, post

ROWS: list[tuple[str, Row]] = [
    ("home", get(EVERYBODY_SIGNED_IN)),
    ("favicon", get(PUBLIC, 302)),
    ("sign-in", get(("nobody",), special=dict.fromkeys(EVERYBODY_SIGNED_IN, 302))),
    ("sign-in-link", get(PUBLIC)),
    ("account", get(EVERYBODY_SIGNED_IN)),
    ("account", post(EVERYBODY_SIGNED_IN, 422)),
    ("account-token", post(EVERYBODY_SIGNED_IN)),
    ("sign-out", post(EVERYBODY_SIGNED_IN)),
    ("api-schema", get(PUBLIC)),
    ("api-docs", get(PUBLIC)),
]
