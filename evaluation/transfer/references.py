"""Keys that stand in JSON and in names, where no foreign key says what they lead to.

RULES says of a column where such keys stand: `{"case": CASE}` is the value of that name, `"*"` each
value of an object or list, `"#"` the names of an object themselves, and a place of a list is its
number; a function stands where the value itself says what its keys lead to. A test numbers the
tables of a database apart and looks for keys in whatever is not named here.
"""

import contextlib
import json
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

Rule: TypeAlias = "str | dict[str, Rule] | Callable[..., Any]"
Change: TypeAlias = Callable[[str, Any], Any]
"""What becomes of a key that leads to a model; 0 where it leads to nothing that travels."""

PERSON: Final = "auth.User"
# A text that begins with what it is about: `debate:12:r1:A`.
NAMED: Final = "named"
# What opened a case where that is not here: it is named by the case itself.
GONE: Final = "gone"
# The request hash of a call.
HASH: Final = "hash"

_CALL, _QUERY, _PASSAGE, _DOMAIN = "llm.Call", "corpus.Query", "corpus.Passage", "corpus.Domain"
_VERSION, _IMPORT, _SOURCE = "corpus.CorpusVersion", "corpus.ImportRun", "corpus.QuerySource"
_POOL, _SYSTEM, _LABEL = "corpus.Pool", "corpus.RetrievalRun", "corpus.Judgment"
_CASE, _VOTE, _ASPECT = "annotate.EscalationCase", "annotate.Vote", "annotate.Aspect"
_SUPPORT, _PANEL, _HINTS = "annotate.SupportLabel", "annotate.ReferencePanel", "debate.HintRun"
_DEBATE, _DEBATES = "debate.Debate", "debate.DebateRun"
_CLEANING = "corpus.CleaningRun"

_OF_LABEL: Final[dict[str, Rule]] = {
    "case": _CASE,
    "debate": _DEBATE,
    "hints": {"run": _HINTS},
    "import": _IMPORT,
    "into_key": _PASSAGE,
    "origin": NAMED,
    "panel": _PANEL,
    "pool": _POOL,
    "run": _DEBATES,
    "votes": {"*": _VOTE},
}
_COMPUTED: Final[dict[str, Rule]] = {"queries": _SOURCE, "runs": {"*": _SYSTEM}}
_MADE: Final[dict[str, Rule]] = {
    "computation": "corpus.RunComputation",
    "config": _COMPUTED,
    "expansion": "corpus.ExpansionRun",
    "import": _IMPORT,
    "reranking": "corpus.RerankRun",
    "pool": _POOL,
    "run": _DEBATES,
}
_TURNS: Final[Rule] = {"*": {"call": _CALL}}
_SCORED: Final[Rule] = {"*": {"run": _SYSTEM}}
_ASPECTS: Final[Rule] = {"*": {"pk": _ASPECT, "passages": {"*": _PASSAGE}}}
_BEGUN: Final[dict[str, Rule]] = {
    "agents": {"*": "evaluation.AgentRun"},
    "answers": "evaluation.RagRun",
    "case": _CASE,
    "debate": _DEBATES,
    "grades": "evaluation.GradeRun",
    "judges": {"*": "evaluation.JudgeRun"},
    "pool": _POOL,
    "release": "evaluation.Release",
    "systems": {"*": _SYSTEM},
    "version": _VERSION,
}
_FAULT: Final[Rule] = {
    "*": {"rows": {"*": {"case_pk": _CASE, "passage_pk": _PASSAGE, "query_pk": _QUERY}}}
}
# Of events: the same name means the same in all but those of OF_VERB.
_TOLD: Final[dict[str, Rule]] = {
    "case": _CASE,
    "cases": {"*": _CASE},
    "debate": _DEBATE,
    "holder": PERSON,
    "instead_of": _VOTE,
    "judgment": _LABEL,
    "origin": NAMED,
    "pair": "annotate.AnswerPair",
    "panel": _PANEL,
    "passage": _PASSAGE,
    "person": PERSON,
    "pool": _POOL,
    "query": _QUERY,
    "retriever": _SYSTEM,
    "sentence": "annotate.SentenceItem",
    "support": _SUPPORT,
    "third": PERSON,
    "user": PERSON,
}
# The event of a claim (claims.py).
CLAIMED: Final = "claim pseudonym"
OF_VERB: Final[dict[str, dict[str, Rule]]] = {
    "answer exam item": {"item": "annotate.ExamItem"},
    "assign query": {"before": PERSON},
    "build pool": {"run": _DEBATES},
    CLAIMED: {"pseudonym": PERSON},
    "compute retrieval run": {"run": _SYSTEM},
    "debate again": {"run": _DEBATES},
    "draw audit": {"run": _DEBATES},
    "draw exam items": {"items": {"*": "annotate.ExamItem"}},
    "made corpus version by cleaning": {"run": _CLEANING},
    "finish pipeline": {"made": _SYSTEM},
    "publish expansion": {"made": _SYSTEM, "source": _SOURCE},
    "rerank retrieval run": {"made": _SYSTEM},
    "settle": {"aspect": _ASPECT},
    "start cleaning": {"source": _VERSION},
    "start reranking": {"source": _SYSTEM},
    "take up corpus version": {"after": _VERSION, "before": _VERSION},
    "undo change": {"change": "annotate.AspectChange"},
}
# What a step of a pipeline is done by.
_CHILDREN: Final = {
    "expand": "corpus.ExpansionRun",
    "compute": "corpus.RunComputation",
    "hybrid": "corpus.RunComputation",
}


def of_steps(steps: Any, *, key: Change) -> Any:
    """The steps of a pipeline: which runs they were begun as, by their kind."""
    if not isinstance(steps, list):
        return steps
    return [_of_step(step, key) if isinstance(step, dict) else step for step in steps]


def _of_step(step: dict[str, Any], key: Change) -> dict[str, Any]:
    child = _CHILDREN.get(str(step.get("kind")), "corpus.RerankRun")
    rule: dict[str, Rule] = {"child": child, "dropped": {"*": child}, "run": _SYSTEM}
    found: dict[str, Any] = change(rule, step, key=key, hashed=str)
    return found


def of_works(works: Any, *, key: Change) -> Any:
    """The runs of a step of a chain, each as [model, key]."""
    found = []
    for label, pk in works:
        is_model = isinstance(label, str) and "." in label
        found.append([label, change(label, pk, key=key, hashed=str) if is_model else 0])
    return found


RULES: Final[dict[tuple[str, str], Rule]] = {
    ("annotate.AspectChange", "after"): _ASPECTS,
    ("annotate.AspectChange", "before"): _ASPECTS,
    ("annotate.EscalationCase", "origin"): NAMED,
    ("annotate.ExamAttempt", "items"): {"*": "annotate.ExamItem"},
    ("annotate.GradedAnswer", "origin"): NAMED,
    ("annotate.ReferenceItem", "hints"): {"run": _HINTS},
    ("annotate.ReviewPoint", "change"): {"judgment": _LABEL, "was": {"judgment": _LABEL}},
    ("annotate.ReviewTurn", "data"): {"third": PERSON},
    ("annotate.SentenceItem", "machines"): {"*": {"run": "evaluation.SupportRun"}},
    ("annotate.SentenceItem", "origin"): NAMED,
    ("annotate.SupportLabel", "provenance"): _OF_LABEL | {"restored": _SUPPORT},
    ("corpus.CleanedPage", "passages"): {"*": _PASSAGE},
    ("corpus.CorpusVersion", "layers"): {"*": _VERSION},
    ("corpus.CorpusVersion", "passage_counts"): {"#": _DOMAIN},
    ("corpus.CorpusVersion", "recipe"): {"cleaning": _CLEANING, "import": _IMPORT},
    ("corpus.ExpansionRound", "calls"): {"*": _CALL},
    ("corpus.ExpansionRun", "report"): {"rounds": {"*": {"run": _SYSTEM, "source": _SOURCE}}},
    ("corpus.ImportRun", "staged"): {
        "domains": {"*": _DOMAIN},
        "gold": {"*": "corpus.GoldVersion"},
        "pools": {"*": _POOL},
        "runs": {"*": _SYSTEM},
    },
    ("corpus.Judgment", "provenance"): _OF_LABEL | {"restored": _LABEL},
    ("corpus.Pool", "provenance"): _MADE,
    ("corpus.PoolBuild", "runs"): {"*": _SYSTEM},
    ("corpus.QuerySource", "provenance"): _MADE,
    ("corpus.RetrievalRun", "provenance"): _MADE,
    ("corpus.RunComputation", "config"): _COMPUTED,
    ("debate.Hint", "calls"): {"*": {"1": _CALL}},
    ("debate.TrialItem", "calls"): {"*": {"2": _CALL}},
    ("evaluation.AgentItem", "answers"): _TURNS,
    ("evaluation.AgentItem", "turns"): _TURNS,
    ("evaluation.ChainStep", "outcome"): _BEGUN,
    ("evaluation.ChainStep", "works"): of_works,
    ("evaluation.GradeRun", "sheet"): {"#": "evaluation.RagSource"},
    ("evaluation.NoiseCheck", "result"): _SCORED,
    ("evaluation.PipelineRun", "steps"): of_steps,
    ("evaluation.RagSource", "sheet"): {"queries": {"*": _QUERY}},
    ("evaluation.Release", "faults"): _FAULT,
    ("evaluation.ScoreSheet", "boards"): {"views": {"*": {"*": _SCORED}}, "oracles": _SCORED},
    ("evaluation.ScoreSheet", "event_id"): "kit.Event",
    ("evaluation.ScoreSheet", "holes"): {
        "*": {"systems": _SCORED, "aspects": {"systems": _SCORED}}
    },
    ("evaluation.ScoreSheet", "run_ids"): {"*": _SYSTEM},
    ("evaluation.SupportedAnswer", "origin"): NAMED,
    ("evaluation.TrainingDocument", "leak"): {"passage": _PASSAGE, "query": _QUERY},
    ("llm.Account", "name"): NAMED,
    ("llm.Call", "key"): HASH,
    ("llm.Call", "request"): {"earlier": HASH},
    ("llm.Call", "subject"): NAMED,
}
# What a name begins with, by what the numbers behind it lead to, in their order.
_NAMES: Final[dict[tuple[str, ...], tuple[str, ...]]] = {
    ("corpus.CleanedPage",): ("clean",),
    ("corpus.ExpansionItem",): ("expansion",),
    ("corpus.ExpansionRun",): ("expansion run ", "expansion-search"),
    ("corpus.RerankItem",): ("rerank_group", "rerank_list", "rerank_point"),
    ("corpus.RerankRun",): ("rerank run ",),
    ("corpus.RunComputation",): ("run computation ", "run-computation"),
    ("debate.AnswerRun",): ("answer run ",),
    ("debate.AuditSample", _DEBATE): ("audit",),
    ("debate.Hint",): ("hint",),
    ("debate.TrialItem",): ("trial",),
    ("evaluation.AgentItem",): ("agent", "evidence_answer", "search_agent"),
    ("evaluation.AgentRun",): ("agent run ", "agent-search"),
    ("evaluation.AnswerVerdict",): ("aspect_rubric", "likert_judge", "rubric_judge"),
    ("evaluation.Grade",): ("rag_grader", "rag_score"),
    ("evaluation.GradeRun",): ("grade run ",),
    ("evaluation.JudgeRun",): ("judge run ",),
    ("evaluation.RagAnswer",): ("rag", "rag_answer", "rag_cited", "rag_closed", "rag_long"),
    ("evaluation.RagRun",): ("rag run ",),
    ("evaluation.SupportRun",): ("support run ",),
    ("evaluation.SupportSet", "evaluation.Claim"): ("claim",),
    ("evaluation.SupportVerdict",): ("support_judge",),
    ("evaluation.TrainingDocument",): ("training",),
    ("evaluation.TrainingItem",): ("train_grade", "train_negative", "train_positive"),
    ("evaluation.TrainingRun",): ("training run ",),
    (_CASE,): (GONE,),
    (_CLEANING,): ("cleaning run ",),
    (_DEBATE,): ("debate",),
    (_DEBATES,): ("debate run ",),
    (_HINTS,): ("hint run ",),
    (_PANEL, _DOMAIN): ("panel",),
    (_QUERY,): ("reference", "reference_answer"),
}
NAMES: Final = {name: targets for targets, names in _NAMES.items() for name in names}
_NAME: Final = re.compile(r"([^:0-9]+):?(.*)", re.DOTALL)


def change(rule: Rule, value: Any, *, key: Change, hashed: Callable[[str], str]) -> Any:
    """The value with what its rule finds changed: keys by `key`, hashes of requests by `hashed`.

    What has another shape than the rule says stays as it is: JSON of earlier versions, or hostile;
    but nothing stays that a database would read as a key.
    """
    if isinstance(rule, dict):
        return _within(rule, value, key, hashed)
    if callable(rule):
        return rule(value, key=key)
    if rule == NAMED:
        return _named(value, key) if isinstance(value, str) else value
    if rule == HASH:
        return hashed(value) if isinstance(value, str) and value else value
    if rule == PERSON and isinstance(value, str):
        return key(rule, value)
    if isinstance(value, (int, float)):
        return key(rule, value) if type(value) is int and value else 0
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return str(key(rule, int(value)))
    return value


def _within(rule: dict[str, Rule], value: Any, key: Change, hashed: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        found = [(rule.get(str(at), rule.get("*")), each) for at, each in enumerate(value)]
        return [
            each if inner is None else change(inner, each, key=key, hashed=hashed)
            for inner, each in found
        ]
    if not isinstance(value, dict):
        return value
    made = {}
    for name, each in value.items():
        inner = rule.get(name, rule.get("*"))
        of_name = rule.get("#")
        if of_name is not None:
            name = change(of_name, name, key=key, hashed=hashed)
        made[name] = each if inner is None else change(inner, each, key=key, hashed=hashed)
    return made


def _named(text: str, key: Change) -> str:
    """The numbers of a name, as many as its kind has."""
    found = _NAME.fullmatch(text)
    if found is None or found[1] not in NAMES:
        return text
    head = text[: len(text) - len(found[2])]
    parts = found[2].split(":")
    # A call about many pages is named by its run.
    of_run = found[1] == "clean" and parts[1:] == ["chunks"]
    targets = (_CLEANING,) if of_run else NAMES[found[1]]
    for at, target in enumerate(targets[: len(parts)]):
        if parts[at].isascii() and parts[at].isdigit():
            parts[at] = str(key(target, int(parts[at])))
    return head + ":".join(parts)


def leads_somewhere(name: str) -> bool:
    """Whether a name, as `change` left it, says what it is about."""
    found = _NAME.fullmatch(name)
    if found is None or found[1] not in NAMES:
        return False
    return "0" not in found[2].split(":")[: len(NAMES[found[1]])]


def changed_json(rule: Rule, text: str, *, key: Change, hashed: Callable[[str], str]) -> str:
    """The same for a value as JSON is written."""
    return json.dumps(change(rule, json.loads(text), key=key, hashed=hashed), ensure_ascii=False)


def of_verb(verb: str) -> dict[str, Rule]:
    """What keys an event of this verb tells."""
    return _TOLD | OF_VERB.get(verb, {})


def naming_people(rule: Rule) -> list[str]:
    """The names under which a rule expects a person."""
    return [name for name, each in rule.items() if each == PERSON] if isinstance(rule, dict) else []
