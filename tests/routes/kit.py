"""Rows of the routes of The way in, the account and the API's page."""

from tests.routes.rows import EVERYBODY_SIGNED_IN, PUBLIC, Row, get, post

TOKEN = {"token-name": "nightly", "token-scope": "read", "token-days": "30"}
STAFF_ALONE = dict.fromkeys(EVERYBODY_SIGNED_IN, 403)
ROWS: list[tuple[str, Row]] = [
    ("home", get(EVERYBODY_SIGNED_IN)),
    ("favicon", get(PUBLIC, 302)),
    ("sign-in", get(("nobody",), special=dict.fromkeys(EVERYBODY_SIGNED_IN, 302))),
    ("sign-in-ask", get(PUBLIC)),
    ("sign-in-ask", post(PUBLIC, 200)),
    ("sign-in-link", get(PUBLIC)),
    ("sign-in-code", get(PUBLIC, 302)),
    ("sign-in-code", post(PUBLIC)),
    ("second-factor", get(EVERYBODY_SIGNED_IN)),
    ("second-factor", post(EVERYBODY_SIGNED_IN, 422)),
    ("second-factor-change", post((), special=dict.fromkeys(EVERYBODY_SIGNED_IN, 404))),
    ("account", get(EVERYBODY_SIGNED_IN)),
    ("account", post(EVERYBODY_SIGNED_IN, 422)),
    ("choose-password", get(EVERYBODY_SIGNED_IN)),
    ("choose-password", post(EVERYBODY_SIGNED_IN, 422)),
    ("account-token", post(EVERYBODY_SIGNED_IN, 422)),
    ("account-token", post(EVERYBODY_SIGNED_IN, 200, body=TOKEN)),
    ("account-token-revoke", post((), special=dict.fromkeys(EVERYBODY_SIGNED_IN, 404))),
    ("account-decisions", post((), special=dict.fromkeys(EVERYBODY_SIGNED_IN, 404))),
    ("account-session-end", post(EVERYBODY_SIGNED_IN)),
    ("account-address-ask", post(EVERYBODY_SIGNED_IN, 422)),
    ("account-address", get(EVERYBODY_SIGNED_IN, 302)),
    ("digest", get(EVERYBODY_SIGNED_IN)),
    ("digest", post(EVERYBODY_SIGNED_IN, 422)),
    ("api-digest", get(EVERYBODY_SIGNED_IN)),
    ("api-digest", Row(EVERYBODY_SIGNED_IN, 400, "put")),
    # For staff, whatever they are in a benchmark.
    ("sign-in-requests", get((), special=STAFF_ALONE)),
    ("site-people", get((), special=STAFF_ALONE)),
    ("site-person", get((), special=STAFF_ALONE)),
    ("site-person", post((), special=STAFF_ALONE)),
    ("site-person-verb", post((), special=STAFF_ALONE, kwargs={"verb": "erase"})),
    ("sign-in-hand", post((), special=STAFF_ALONE)),
    ("sign-in-lift", post((), special=STAFF_ALONE)),
    # Without a worker it is not ready, and without its settings tells no figures and no contact.
    ("live", get(PUBLIC)),
    ("ready", get(PUBLIC, 503)),
    ("metrics", get(PUBLIC, 404)),
    ("security-txt", get(PUBLIC, 404)),
    # Anybody's browser may report, in words that are read.
    ("csp-report", post(PUBLIC, 400)),
    ("health", get((), special=STAFF_ALONE)),
    ("glossary", get(EVERYBODY_SIGNED_IN)),
    ("sign-out", post(EVERYBODY_SIGNED_IN)),
    ("api-schema", get(PUBLIC)),
    ("api-docs", get(PUBLIC)),
]
