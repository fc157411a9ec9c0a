"""The exported record is chained: what is changed, moved or left out is found."""

import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from kit.lists.chained import chained

ROWS = [{"id": n, "verb": "label", "data": {"label": n % 2, "é": 0.1 * n}} for n in range(1, 8)]


def write(path: Path, lines: list[str]) -> Path:
    path.write_text("".join(lines))
    return path


def verify(*arguments: str) -> str:
    out = StringIO()
    call_command("verify_events", *arguments, stdout=out)
    return out.getvalue()


def test_a_record_is_verified(tmp_path: Path) -> None:
    lines = list(chained(ROWS))
    said = verify(str(write(tmp_path / "all", lines)))
    assert said == f"7 events, each as it was written. Chain: {json.loads(lines[-1])['chain']}\n"
    assert verify(str(write(tmp_path / "none", list(chained([]))))).startswith("0 events")


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        (lambda lines: [*lines[:2], lines[2].replace('"label":1', '"label":0'), *lines[3:]], "3 "),
        (lambda lines: [lines[0], *lines[2:]], "Line 2 "),
        (lambda lines: [lines[1], lines[0], *lines[2:]], "Line 1 "),
        (lambda lines: lines[1:], "Line 1 "),
        (lambda lines: lines[:-1], "its last line is missing"),
        (lambda lines: [*lines[:-2], lines[-1]], "Line 7: 6 events"),
        (lambda lines: [*lines, lines[0]], "behind the last one"),
        (lambda lines: ["[]\n", *lines], "Line 1 is no event"),
        (lambda lines: [*lines[:-1], lines[-1][:20]], "Line 8 is no event"),
        (lambda lines: [], "its last line is missing"),
    ],
)
def test_a_record_that_was_tampered_with_is_refused(
    harm: Callable[[list[str]], list[str]], said: str, tmp_path: Path
) -> None:
    with pytest.raises(CommandError, match=said):
        verify(str(write(tmp_path / "harmed", harm(list(chained(ROWS))))))


def test_a_record_from_which_details_are_kept_back_stands_beside_a_whole_one(
    tmp_path: Path,
) -> None:
    whole = [{**row, "data": {"label": 1}} for row in ROWS]
    less = [{**row, "data": {"kept_back": "judged blind"}} for row in ROWS]
    newer = write(tmp_path / "newer", list(chained(whole)))
    older = write(tmp_path / "older", list(chained(less)))
    said = verify(str(newer), "--older", str(older))
    assert said.startswith("7 events, each as it was written. Details of 7 were kept back")
    forged = write(tmp_path / "forged", list(chained({**row, "verb": "x"} for row in whole)))
    with pytest.raises(CommandError, match="7 in all"):
        verify(str(forged), "--older", str(older))


def test_an_older_record_shows_what_was_changed_since(tmp_path: Path) -> None:
    older = write(tmp_path / "older", list(chained(ROWS[:4])))
    newer = write(tmp_path / "newer", list(chained(ROWS)))
    assert verify(str(newer), "--older", str(older)).startswith("7 events")
    forged = [{**row, "verb": "vote"} if row["id"] == 3 else row for row in ROWS]
    forged_file = write(tmp_path / "forged", list(chained(forged)))
    with pytest.raises(CommandError, match="event 3, 1 in all"):
        verify(str(forged_file), "--older", str(older))
