"""Keys that stand in JSON and in names, where no foreign key says what they lead to.

RULES says of a column where such keys stand: `{"case": CASE}` is the value of that name, `"*"` each
value of an object or list, `"#"` the names of an object themselves, and a place of a list is its
number. A test numbers the tables of a database apart and looks for keys in whatever is not named
here.
"""

import contextlib
import re
from collections.abc import Callable
from typing import Any, Final, TypeAlias

Rule: TypeAlias = "str | dict[str, Rule]"
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
OF_VERB: Final[dict[str, dict[str, Rule]]] = {
    "answer exam item": {"item": "annotate.ExamItem"},
    "assign query": {"before": PERSON},
    "build pool": {"run": _DEBATES},
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
    ("evaluation.GradeRun", "sheet"): {"#": "evaluation.RagSource"},
    ("evaluation.NoiseCheck", "result"): _SCORED,
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
# What a name begins with, and what the numbers behind it lead to, in their order.
NAMES: Final[dict[str, tuple[str, ...]]] = {
    "agent": ("evaluation.AgentItem",),
    "agent run ": ("evaluation.AgentRun",),
    "agent-search": ("evaluation.AgentRun",),
    "answer run ": ("debate.AnswerRun",),
    "aspect_rubric": ("evaluation.AnswerVerdict",),
    "audit": ("debate.AuditSample", _DEBATE),
    "claim": ("evaluation.SupportSet", "evaluation.Claim"),
    "clean": ("corpus.CleanedPage",),
    "cleaning run ": (_CLEANING,),
    "debate": (_DEBATE,),
    "debate run ": (_DEBATES,),
    "evidence_answer": ("evaluation.AgentItem",),
    "expansion": ("corpus.ExpansionItem",),
    "expansion run ": ("corpus.ExpansionRun",),
    "expansion-search": ("corpus.ExpansionRun",),
    GONE: (_CASE,),
    "grade run ": ("evaluation.GradeRun",),
    "hint": ("debate.Hint",),
    "hint run ": (_HINTS,),
    "judge run ": ("evaluation.JudgeRun",),
    "likert_judge": ("evaluation.AnswerVerdict",),
    "panel": (_PANEL, _DOMAIN),
    "rag": ("evaluation.RagAnswer",),
    "rag run ": ("evaluation.RagRun",),
    "rag_answer": ("evaluation.RagAnswer",),
    "rag_cited": ("evaluation.RagAnswer",),
    "rag_closed": ("evaluation.RagAnswer",),
    "rag_grader": ("evaluation.Grade",),
    "rag_long": ("evaluation.RagAnswer",),
    "rag_score": ("evaluation.Grade",),
    "reference": (_QUERY,),
    "reference_answer": (_QUERY,),
    "rerank run ": ("corpus.RerankRun",),
    "rerank_group": ("corpus.RerankItem",),
    "rerank_list": ("corpus.RerankItem",),
    "rerank_point": ("corpus.RerankItem",),
    "rubric_judge": ("evaluation.AnswerVerdict",),
    "run computation ": ("corpus.RunComputation",),
    "run-computation": ("corpus.RunComputation",),
    "search_agent": ("evaluation.AgentItem",),
    "support run ": ("evaluation.SupportRun",),
    "support_judge": ("evaluation.SupportVerdict",),
    "train_grade": ("evaluation.TrainingItem",),
    "train_negative": ("evaluation.TrainingItem",),
    "train_positive": ("evaluation.TrainingItem",),
    "training": ("evaluation.TrainingDocument",),
    "training run ": ("evaluation.TrainingRun",),
    "trial": ("debate.TrialItem",),
}
_NAME: Final = re.compile(r"([^:0-9]+):?(.*)", re.DOTALL)


def change(rule: Rule, value: Any, *, key: Change, hashed: Callable[[str], str]) -> Any:
    """The value with what its rule finds changed: keys by `key`, hashes of requests by `hashed`.

    What has another shape than the rule says stays as it is: JSON of earlier versions, or hostile;
    but nothing stays that a database would read as a key.
    """
    if isinstance(rule, dict):
        return _within(rule, value, key, hashed)
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


def of_event(verb: str, data: Any, *, key: Change, hashed: Callable[[str], str]) -> Any:
    """The same for what an event tells, by its verb."""
    rule = _TOLD | OF_VERB.get(verb, {})
    return change(rule, data, key=key, hashed=hashed)


# What a step of a pipeline is done by.
_CHILDREN: Final = {
    "expand": "corpus.ExpansionRun",
    "compute": "corpus.RunComputation",
    "hybrid": "corpus.RunComputation",
}


def of_steps(steps: Any, *, key: Change) -> Any:
    """The same for the steps of a pipeline: which runs they were begun as, by their kind."""
    if not isinstance(steps, list):
        return steps
    return [_of_step(step, key) if isinstance(step, dict) else step for step in steps]


def _of_step(step: dict[str, Any], key: Change) -> dict[str, Any]:
    child = _CHILDREN.get(str(step.get("kind")), "corpus.RerankRun")
    rule: dict[str, Rule] = {"child": child, "dropped": {"*": child}, "run": _SYSTEM}
    found: dict[str, Any] = change(rule, step, key=key, hashed=str)
    return found


def of_works(works: Any, *, key: Change) -> Any:
    """The same for the runs of a step of a chain, each as [model, key]."""
    found = []
    for label, pk in works:
        is_model = isinstance(label, str) and "." in label
        found.append([label, change(label, pk, key=key, hashed=str) if is_model else 0])
    return found
