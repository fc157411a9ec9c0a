"""What must be true after a run, by plain SQL on Assay's database and the stub's bill.

Shares no code with Assay: it knows tables and columns, and the rules of DREAM (docs/protocol.md
2.3) in the few words that it needs.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.chaos import money
from tests.chaos.money import found
from tests.chaos.sql import Database, Row

_FINAL = {"agreed", "escalated", "unreadable", "failed", "skipped_no_answer"}
_FOR_PEOPLE = {"escalated", "unreadable"}


@dataclass(frozen=True)
class Outcomes:
    """How pairs ended and what was said in them, in words that are the same in every database."""

    debates: dict[tuple[str, str], Row]
    turns: Counter[Row]
    labels: Counter[Row]
    cases: Counter[Row]


@dataclass(frozen=True)
class Evidence:
    """What the checker goes by; `handed` and `killed` as in `money.Books`."""

    database: Database
    bill: Path
    handed: frozenset[int]
    killed: Mapping[int, str]
    expected: Outcomes


def check(evidence: Evidence) -> tuple[list[str], dict[str, int]]:
    """Every broken promise in words, and the numbers that were found."""
    database = evidence.database
    now = outcomes(database)
    books = money.read_books(
        database, evidence.bill, handed=evidence.handed, killed=evidence.killed
    )
    faults = [
        *every_pair_once(database),
        *labels_once(database),
        *turns_bear_out_labels(database),
        *people_asked_once(database),
        *_as_undisturbed(evidence.expected, now),
        *money.answered_once(books),
        *money.texts_as_billed(books),
        *money.payments_listed(books),
        *money.nothing_else_listed(books),
    ]
    ends = Counter(row[0] for row in now.debates.values())
    return faults, {"pairs": ends.total(), **dict(sorted(ends.items())), **money.numbers(books)}


def outcomes(database: Database) -> Outcomes:
    """What stands in the database after a run, by the names of queries and passages."""
    pair = "JOIN corpus_query q ON q.id = x.query_id JOIN corpus_passage p ON p.id = x.passage_id"
    debates = database.rows(
        f"SELECT q.qid, p.pid, x.status, x.round, x.label FROM debate_debate x {pair}"
    )
    turns = database.rows(
        "SELECT q.qid, p.pid, t.round, t.agent, t.response, t.label FROM debate_turn t "
        f"JOIN debate_debate x ON x.id = t.debate_id {pair}"
    )
    labels = database.rows(
        f"SELECT q.qid, p.pid, x.label, x.source, x.status, x.round FROM corpus_judgment x {pair}"
    )
    cases = database.rows(
        f"SELECT q.qid, p.pid, x.kind, x.status FROM annotate_escalationcase x {pair}"
    )
    return Outcomes(
        debates={(row[0], row[1]): tuple(row[2:]) for row in debates},
        turns=Counter(map(tuple, turns)),
        labels=Counter(map(tuple, labels)),
        cases=Counter(map(tuple, cases)),
    )


def every_pair_once(database: Database) -> Iterator[str]:
    """Nothing is lost: every pair of the pool has one debate, with an outcome."""
    rows = database.rows(
        "SELECT e.id, count(d.id), min(d.status) FROM corpus_poolentry e "
        "LEFT JOIN debate_debate d ON d.query_id = e.query_id AND d.passage_id = e.passage_id "
        "GROUP BY e.id"
    )
    bad = [row for row in rows if row[1] != 1 or row[2] not in _FINAL]
    yield from found("pairs without exactly one outcome", bad)
    for status, done, total in database.rows("SELECT status, done, total FROM debate_debaterun"):
        if (status, done) != ("done", total) or total != len(rows):
            yield f"the run is {status} with {done} of {total} done over {len(rows)} pairs"


def labels_once(database: Database) -> Iterator[str]:
    """A pair has one label row, ever, if its agents agreed; and none otherwise."""
    rows = database.rows(
        "SELECT d.id, d.status, count(j.id), min(j.label), max(d.label), min(j.status), "
        "min(j.source), min(j.id), max(d.judgment_id) FROM debate_debate d "
        "LEFT JOIN corpus_judgment j ON j.query_id = d.query_id AND j.passage_id = d.passage_id "
        "GROUP BY d.id, d.status"
    )
    for id, status, count, given, label, standing, source, row, linked in rows:
        if status != "agreed":
            if count or label is not None or linked is not None:
                yield f"debate {id} is {status} and has a label"
        elif (count, given, standing, source, row) != (1, label, "standing", "debate", linked):
            yield f"debate {id} agreed on {label} and has {count} labels, {given} {standing}"
    events = database.rows(
        "SELECT target_id, count(*) FROM kit_event WHERE verb = 'label' GROUP BY target_id"
    )
    ids = {str(id) for (id,) in database.rows("SELECT id FROM corpus_judgment")}
    if {target for target, _ in events} != ids or any(count != 1 for _, count in events):
        yield "labels and their events do not match one to one"


def turns_bear_out_labels(database: Database) -> Iterator[str]:
    """Replay the rule: the debate ends in the first round in which all say the same."""
    rounds: dict[int, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for debate, number, *turn in database.rows(
        "SELECT t.debate_id, t.round, t.agent, t.label, c.status FROM debate_turn t "
        "LEFT JOIN llm_call c ON c.id = t.call_id"
    ):
        rounds[debate][number].append(tuple(turn))
    for id, status, ended, label in database.rows(
        "SELECT id, status, round, label FROM debate_debate"
    ):
        said = [rounds[id][number] for number in sorted(rounds[id])]
        if status not in ("agreed", "escalated"):
            continue
        if any(sorted(turn[0] for turn in turns) != ["A", "B"] for turns in said):
            yield f"debate {id}: a round is not one turn of A and one of B"
        elif any(turn[2] != "answered" for turns in said for turn in turns):
            yield f"debate {id}: a turn rests on a call that was not answered"
        elif _ruling(said) != (status, ended, label):
            yield f"debate {id}: {status} {label} in round {ended} does not follow from its turns"


def _ruling(said: list[list[Row]]) -> Row:
    for number, turns in enumerate(said, start=1):
        labels = {turn[1] for turn in turns}
        if len(labels) == 1 and labels <= {0, 1}:
            return ("agreed", number, labels.pop()) if number == len(said) else ("late", number, 0)
    return ("escalated", None, None)


def people_asked_once(database: Database) -> Iterator[str]:
    """A pair that people must settle has one case, every other none."""
    cases = Counter(
        origin for (origin,) in database.rows("SELECT origin FROM annotate_escalationcase")
    )
    wanted = Counter(
        f"debate:{id}"
        for id, status in database.rows("SELECT id, status FROM debate_debate")
        if status in _FOR_PEOPLE
    )
    yield from found("cases missing or too many", (cases - wanted) + (wanted - cases))


def _as_undisturbed(expected: Outcomes, now: Outcomes) -> Iterator[str]:
    changed = {
        pair: (expected.debates.get(pair), now.debates.get(pair))
        for pair in expected.debates.keys() | now.debates.keys()
        if expected.debates.get(pair) != now.debates.get(pair)
    }
    yield from found("outcomes unlike those of an undisturbed run", changed.items())
    for what in ("turns", "labels", "cases"):
        before, after = getattr(expected, what), getattr(now, what)
        yield from found(f"{what} unlike an undisturbed run's", (before - after) + (after - before))
