"""What is kept, and how today's answer is held against it.

Lists (API, commands, routes) say what may be relied on, so `--write` adds to them and never takes a
line away: a line that is gone, or changed, has to be named in LEFT_OUT, with a reason. What no
release has had yet may be deleted from the file by hand. Transcripts and digests are rewritten
whole: their difference is for whoever reads the commit.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from difflib import unified_diff
from itertools import groupby
from pathlib import Path

import pytest

KEPT = Path(__file__).parent / "kept"
IS_WRITING = bool(os.environ.get("ASSAY_WRITE_CONTRACT"))
Line = tuple[str, str]

_METRICS = (
    "query metric: one of 'MAP@100', 'MRR', 'alpha_nDCG@25', 'aspect_recall@25', 'hit@10', "
    "'hole@10', 'nDCG@10', 'nDCG@25', 'nDCG_bridge@10', 'recall@10', 'recall@25', 'unjudged@10'"
)
_WHOLE_PAGE = (
    "application/json",
    "blocks*[].end*: integer",
    "blocks*[].is_main*: boolean",
    "blocks*[].kind*: string",
    "blocks*[].level*: integer",
    "blocks*[].start*: integer",
    "content_type*: string",
    "created_at*: string (date-time)",
    "id*: integer",
    "origin*: one of 'fetched', 'pasted', 'uploaded'",
    "sha256*: string",
    "size*: integer",
    "text*: string",
    "title*: string",
    "url*: string",
)
_NAMED = "Cases are named by ids drawn by chance."
# By file: a group ("GET /api/...", a command, a path), or a group and one of its lines with a space
# between, and why it is no longer there.
_RERANKER = "There is another role, reranker."
_AUDITS = "Audits may tell it instead."
LEFT_OUT: dict[str, dict[str, str]] = {
    "answers.txt": {"GET /api/b/<slug>/cases/ .results[].id: int": _NAMED},
    "api.txt": {
        f"POST /api/b/{{slug}}/leaderboard/noise/ takes {name}*: number (double)": _AUDITS
        for name in ("if_not", "if_relevant")
    }
    | {
        f"{route} {field}: one of 'likert3', 'likert5'": "There is another scale, shares."
        for route, field in (
            ("GET /api/b/{slug}/queries/{id}/aspects/", "200 results*[].scale"),
            ("GET /api/b/{slug}/weight-scale/", "200 scale*"),
            ("POST /api/b/{slug}/queries/{id}/aspects/", "201 scale"),
            ("POST /api/b/{slug}/queries/{id}/scale/", "takes scale*"),
            ("PUT /api/b/{slug}/aspects/{id}/", "200 scale"),
            ("PUT /api/b/{slug}/weight-scale/", "200 scale*"),
            ("PUT /api/b/{slug}/weight-scale/", "takes scale*"),
        )
    }
    | {
        f"{route}state*: one of 'candidate', 'conflict', 'gold', 'no', 'open'": (
            "There is another state, off_query."
        )
        for route in (
            "GET /api/b/{slug}/candidates/ 200 results*[].",
            "GET /api/b/{slug}/candidates/{id}/ 200 ",
            "POST /api/b/{slug}/candidates/{id}/confirm/ 200 ",
            "POST /api/b/{slug}/candidates/{id}/refuse/ 200 ",
            "POST /api/b/{slug}/candidates/{id}/take-back/ 200 ",
        )
    }
    | {
        f"GET /api/b/{{slug}}/leaderboard/{route} {_METRICS}": "Any metric of score_run is taken."
        for route in ("", "compare/", "runs/{id}/", "versions/")
    }
    | {
        f"{route} {field}: string": "Where nobody is named it was null all along."
        for route, fields in (
            ("GET /api/b/{slug}/queries/{id}/answers/ 200", ["results*[].created_by*"]),
            ("POST /api/b/{slug}/queries/{id}/answers/ 201", ["created_by*"]),
            ("POST /api/b/{slug}/queries/{id}/answers/{answer_pk}/choose/ 200", ["created_by*"]),
            ("POST /api/b/{slug}/queries/{id}/answers/{answer_pk}/restore/ 201", ["created_by*"]),
            ("GET /api/b/{slug}/reviews/ 200", ["results*[].author", "results*[].third"]),
            ("GET /api/b/{slug}/reviews/{id}/ 200", ["author", "third"]),
            ("POST /api/b/{slug}/queries/{id}/review/ 201", ["author", "third"]),
            *(
                (f"POST /api/b/{{slug}}/reviews/{{id}}/{path}/ 200", ["author", "third"])
                for path in (
                    *("aspects", "move/{verb}", "passages/{passage_pk}", "points/{point_pk}"),
                    *("scores", "weights/{aspect_pk}"),
                )
            ),
        )
        for field in fields
    }
    | {
        "POST /api/b/{slug}/endpoints/try/ takes role: one of 'adjudicator', 'agents', 'answerer', "
        "'cleaner', 'embedder', 'grader', 'judge', 'splitter' or one of ''": _RERANKER
    }
    | {
        "GET /api/b/{slug}/releases/{id}/files/{path} 200 application/octet-stream": (
            "A file is sent as the type that its name tells, as ever."
        )
    }
    | {
        f"POST /api/b/{{slug}}/queries/{{id}}/pages/files/ 201 {line}": (
            "A file is read in the background: the answer is its fetch, with 202."
        )
        for line in _WHOLE_PAGE
    }
    | {
        f"POST /api/b/{{slug}}/cases/{{id}}/{verb}/": _NAMED
        for verb in ("first-judgment", "leave", "votes")
    }
    | dict.fromkeys(
        (
            "GET /api/b/{slug}/cases/ 200 results*[].id*: integer",
            "GET /api/b/{slug}/cases/next/ 200 case*?.id*: integer",
            "GET /api/b/{slug}/feedback/ 200 messages*[].case?: integer",
            "GET /api/b/{slug}/feedback/people/{id}/ 200 messages*[].case?: integer",
            "GET /api/b/{slug}/feedback/votes/ 200 results*[].case*: integer",
            "GET /api/b/{slug}/feedback/votes/{id}/ 200 case*: integer",
            "POST /api/b/{slug}/feedback/people/{id}/ 201 case?: integer",
            "POST /api/b/{slug}/feedback/people/{id}/ takes case?: integer",
            "POST /api/b/{slug}/panels/{id}/items/{item}/labels/ 201 case*: integer",
        ),
        _NAMED,
    ),
    "commands.txt": {
        "check_endpoint --role, as role, one of adjudicator agents answerer cleaner embedder "
        "grader judge splitter, default ''": _RERANKER,
        "export_benchmark --format, as format, one of beir bright bright_pro rankllm trec, "
        "required": "--everything takes its place",
        "export_benchmark --out, as out, path, required": "--everything takes its place",
        "score_run --qrels, as qrels, path, exactly one of its group": "it may be given again",
        "score_run --profile, as profile, one of paper reference strict, default 'strict'": (
            "trec_eval is a further choice"
        ),
        "score_run --relevant-from, as relevant_from, int, default 1": "-l is another name of it",
        "score_run 1. positional, as run, path, required": "several may be given",
        "agreement --level, as level, one of interval nominal ordinal, required": (
            "There is another level, ratio."
        ),
        "export_benchmark --format, as format, one of beir bright trec, required": (
            "bright_pro and rankllm are further choices"
        ),
        "load_benchmark --format, as format, one of beir bridge bright bright_pro cranfield "
        "hotpotqa pairs score_json trec trec_run, required": "wordings is a further choice",
    },
    "routes.txt": {
        "/home/debate/": "The checklist at home shows what goes on, of every kind.",
        "/account/token/ POST: nobody 302, stranger 302, annotator 302, outsider 302, "
        "reviewer 302, admin 302": "A token needs a name, a scope and an end.",
        **{
            f"{path}/<int>/{verb}": _NAMED
            for path, verb in (
                *(
                    ("/api/b/<slug>/cases", f"{verb}/")
                    for verb in ("first-judgment", "leave", "votes")
                ),
                *(("/b/<slug>/disputes", ""), ("/b/<slug>/vote", "")),
            )
        },
    },
}


def same_lines(name: str, today: Iterable[Line]) -> None:
    """Today's lines, each of a group, are those that are kept without those that are left out."""
    path, now = KEPT / name, set(today)
    kept = set(read(path.read_text(encoding="utf-8"))) if path.exists() else set()
    if IS_WRITING:
        kept |= now
        path.write_text(as_text(kept), encoding="utf-8")
    _tell(name, against(kept, now, LEFT_OUT[name]))


def same_text(name: str, today: str) -> None:
    """Today's text is the kept one, letter by letter."""
    path = KEPT / name
    if IS_WRITING:
        path.write_text(today, encoding="utf-8")
    kept = path.read_text(encoding="utf-8")
    _tell(name, list(unified_diff(kept.splitlines(), today.splitlines(), n=2, lineterm="")))
    assert kept == today


def against(kept: set[Line], today: set[Line], reasons: Mapping[str, str]) -> list[str]:
    """What is gone (-) or new (+), and what is wrong with the reasons."""
    out = {line for line in kept if line[0] in reasons or " ".join(line) in reasons}
    fitting = {line[0] for line in out} | {" ".join(line) for line in out}
    wrong = [f"LEFT_OUT, not kept: {each}" for each in sorted(reasons.keys() - fitting)]
    wrong += [f"LEFT_OUT, without a reason: {each}" for each, why in reasons.items() if not why]
    changed = [(line, "-") for line in kept - out - today]
    changed += [(line, "+") for line in today - (kept - out)]
    return wrong + [f"{sign} {' '.join(line)}" for line, sign in sorted(changed)]


def _tell(name: str, found: list[str]) -> None:
    if found:
        how = "If that is meant: python -m tests.contract --write, and read tests/contract/kept.py."
        pytest.fail("\n".join([f"{name}, kept (-) and today (+). {how}", *found]), pytrace=False)


def read(text: str) -> Iterator[Line]:
    """The lines of what `as_text` wrote."""
    group = ""
    for line in text.splitlines():
        if line.startswith("  "):
            yield group, line[2:]
        else:
            group = line


def as_text(lines: Iterable[Line]) -> str:
    """Each group once, at the margin, with its lines below."""
    groups = groupby(sorted(lines, key=_order), key=lambda line: line[0])
    return "".join(
        f"{name}\n" + "".join(f"  {line}\n" for _, line in each) for name, each in groups
    )


def _order(line: Line) -> tuple[str, Line]:
    """Operations of one path stand together."""
    return line[0].rpartition(" ")[2], line
