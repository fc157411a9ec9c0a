"""Where each published reference answer comes from: a model, its prompt and parameters, a person,
or the import. No person is named."""

import hashlib
from collections.abc import Iterator
from typing import Any, Final

from annotate.answers.evidence import published_answers
from annotate.answers.models import AnswerAuthor
from annotate.models import ReferenceAnswer
from corpus.models import Domain
from debate.answering.asking import default_prompt, prompt_text

_PARAMETERS: Final = (
    *("temperature", "top_p", "max_tokens", "seed", "reasoning_effort", "replicate"),
)


def read_origins(domain: Domain) -> Iterator[dict[str, Any]]:
    """One row for each query with a published answer, in the order of queries.

    `text_sha256` is that of the answer; of what a model wrote, or a person began from a model's,
    the model, the hash of the prompt, and what else the request set.
    """
    chosen = {
        each.query_id: each
        for each in ReferenceAnswer.objects.chosen()
        .filter(query__domain=domain)
        .select_related("call", "based_on")
    }
    published = published_answers(domain)
    for pk, qid in domain.queries.order_by("pk").values_list("pk", "qid"):
        if text := published[pk].text:
            digest = hashlib.sha256(text.encode()).hexdigest()
            yield {"query_id": qid, "text_sha256": digest, **_origin(chosen.get(pk))}


def prompts_at_hand() -> dict[str, str]:
    """The texts of prompts by their hash; of those of before there is the hash alone."""
    return {default_prompt().sha256: prompt_text()}


def _origin(answer: ReferenceAnswer | None) -> dict[str, Any]:
    if answer is None:
        return {"author": "import"}
    found: dict[str, Any] = {"author": answer.author}
    if answer.author == AnswerAuthor.PERSON:
        found["begun_from"] = answer.begun_from
    maker = _maker(answer)
    if maker is None:
        return found
    found |= {
        "model": maker.model,
        "practice": maker.practice,
        "prompt_version": maker.prompt_version,
        "prompt_sha256": maker.prompt_sha256,
    }
    if maker.call is not None:
        asked = maker.call.request
        found["request_key"] = maker.call.key
        found["parameters"] = {name: asked[name] for name in _PARAMETERS if name in asked}
    return found


def _maker(answer: ReferenceAnswer) -> ReferenceAnswer | None:
    """The version by a model that this is, or goes back to."""
    at: ReferenceAnswer | None = answer
    while at is not None and at.author != AnswerAuthor.MODEL:
        at = at.based_on
    return at
