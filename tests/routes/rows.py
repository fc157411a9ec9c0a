"""What a row says: which method is tried, who is let in, and what they get. Everybody else's
answer follows from the house rule (`expected`)."""

from dataclasses import dataclass, field
from typing import Any

MEMBERS = ("annotator", "outsider", "reviewer", "admin")
ROLES = ("nobody", "stranger", *MEMBERS)
EVERYBODY_SIGNED_IN = ("stranger", *MEMBERS)
READERS = ("reviewer", "admin")
ADMIN = ("admin",)
# An annotator of the domain at hand; the outsider annotates another domain.
OWN = ("annotator",)
REVIEWER = ("reviewer",)
# Who has a part in the review at hand: nobody wrote on its query, so annotators answer for it.
PARTS = ("annotator", "reviewer", "admin")
NOT_THEIRS = {"annotator": 403, "admin": 403}
ANNOTATORS = ("annotator", "outsider")
NOT_MINE = ("outsider", "reviewer", "admin")


@dataclass(frozen=True)
class Row:
    """What a route answers: `status` to those let in, unless `special` says otherwise."""

    allowed: tuple[str, ...]
    status: int = 200
    method: str = "get"
    body: dict[str, Any] = field(default_factory=dict)
    special: dict[str, int] = field(default_factory=dict)
    kwargs: dict[str, Any] = field(default_factory=dict)


def get(allowed: tuple[str, ...], status: int = 200, **more: Any) -> Row:
    return Row(allowed, status, "get", **more)


def post(allowed: tuple[str, ...], status: int = 302, **more: Any) -> Row:
    return Row(allowed, status, "post", **more)


def put(allowed: tuple[str, ...], status: int = 200, **more: Any) -> Row:
    return Row(allowed, status, "put", **more)


PUBLIC = (*ROLES,)
# Who may choose a reference answer: its annotators, and admins.
CHOOSERS = ("annotator", "admin")


def expected(name: str, row: Row, role: str) -> int:
    if role in row.special:
        return row.special[role]
    if role in row.allowed:
        return row.status
    if role == "nobody":
        return 401 if name.startswith("api-") else 302
    return 404 if role == "stranger" else 403
