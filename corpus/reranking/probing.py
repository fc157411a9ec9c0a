"""Ten pairs of known order, which a rerank server is tried on before a run pays for it."""

import asyncio
from pathlib import Path
from typing import Final

from corpus.reranking.asking import Settings, server_request
from corpus.reranking.rules import auc
from kit.errors import Refused
from llm.gateway import Gateways
from llm.reranking import unpack

LEAST_AUC: Final = 0.9
# Of each a question, what answers it, and what does not.
_TEXT: Final = Path(__file__).resolve().parent.parent / "prompts" / "rerank_pairs.txt"
PAIRS: Final = [each.splitlines() for each in _TEXT.read_text(encoding="utf-8").split("\n\n")]


async def probe(gateways: Gateways, who: Settings, subject: str) -> float:
    """The AUC over the pairs; raises Refused with the likely cause where scores tell nothing, and
    LLMError. Answers come from the ledger where the same server was tried before."""
    requests = [server_request(who, query, [answer, other]) for query, answer, other in PAIRS]
    replies = await asyncio.gather(*(gateways.complete(each, subject) for each in requests))
    scores = [unpack(reply.text) for reply in replies]
    found = auc([one for one, _ in scores], [other for _, other in scores])
    if fault := fault_of(scores, found):
        raise Refused(
            f"{who.model} was tried on ten pairs of known order before anything was paid for "
            f"passages, and {fault}"
        )
    return found


def fault_of(scores: list[list[float]], found: float) -> str:
    """What is wrong with these scores, and the likely cause; "" for nothing."""
    if len({round(each, 6) for pair in scores for each in pair}) == 1:
        return (
            "every score is the same. Likely the model is no reranker (an embedding or a chat "
            "model has no head for scores), or the server drops the documents."
        )
    if found < 1 - LEAST_AUC:
        return (
            f"scores stand on their head: AUC {found:.2f}. Likely the server returns distances, "
            "or the model's labels are swapped."
        )
    if found < LEAST_AUC:
        return (
            f"scores do not tell answers from other texts: AUC {found:.2f}, at least "
            f"{LEAST_AUC} is expected. Likely the model wants a prompt template (a setting "
            "here), or is no reranker, or does not know the language."
        )
    return ""
