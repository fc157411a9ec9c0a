"""The verdict that a reason closes with, to flag answers that contradict themselves.

A person looks at every flag, and a wrong one costs trust in all: so only plain closings are
read, and whatever is hedged, turned or about a single answer among several is left alone.
"""

from __future__ import annotations

import re
from typing import Final

from .types import Response

_SENTENCE_END: Final = re.compile(r"(?<=[.!?;])\s+|\n+")
# "yes" or "no" named as the outcome.
_NAMED: Final = re.compile(
    r"\b(?:answer|response|decision|verdict|conclusion|label)\s*(?:is|=|:|must be|should be)\s*"
    r"[\"'“‘*]*(yes|no(?!\s+\w))\b|"
    r"^(?:therefore|thus|hence|so|in conclusion|overall|finally)[,:]?\s+"
    r"[\"'“‘*]*(yes|no(?!\s+\w))\b|"
    r"^[\"'“‘*]*(yes|no)[\"'”’*]*[.!]?$",
    re.IGNORECASE,
)
_SUBJECT: Final = (
    r"\b(?:the|this)\s+(?:given\s+|whole\s+)?(?:chunk|passage|document|text)\s+(?:itself\s+)?"
)
_HOW: Final = r"(?:(?:therefore|thus|also|fully|completely|directly|explicitly|clearly)\s+)*"
_SUPPORTS: Final = (
    r"(?:answers?|supports?|substantiates?|grounds?|justif(?:y|ies)|proves?)\s+"
    r"(?:the\s+(?:query|question|answer)|(?:at\s+least\s+)?(?:one|any|an|none)\b|both\b|all\b)"
)
_SAYS_YES: Final = re.compile(_SUBJECT + _HOW + _SUPPORTS, re.IGNORECASE)
_SAYS_NO: Final = re.compile(
    _SUBJECT
    + r"(?:does\s+not|doesn[’']t|do\s+not|cannot|can[’']t|fails\s+to)\s+"
    + _HOW
    + _SUPPORTS,
    re.IGNORECASE,
)
# A sentence with one of these may take back or limit what it says.
_TURNS: Final = re.compile(
    r"\b(but|however|although|though|while|whereas|yet|except|unless|if|even|despite|still|"
    r"only|claims?|argues?|argued|says?|said|thinks?|agent|other|others|none|not\s+only)\b|"
    r"\banswers?\s*\(?\d|\?",
    re.IGNORECASE,
)


def closing_verdict(reason: str) -> Response | None:
    """The yes or no in the last sentence of a reason; None where it is not beyond doubt."""
    sentences = [each.strip() for each in _SENTENCE_END.split(reason) if each.strip()]
    if not sentences or _TURNS.search(sentences[-1]):
        return None
    last = sentences[-1]
    named = {word.lower() for match in _NAMED.finditer(last) for word in match.groups() if word}
    if _SAYS_NO.search(last):
        named.add("no")
    elif _SAYS_YES.search(last):
        named.add("yes")
    if named == {"yes"}:
        return "yes"
    return "no" if named == {"no"} else None
