"""Ten pairs of known order, which a rerank server is tried on before a run pays for it."""

import asyncio
from typing import Final

from corpus.reranking.asking import Settings, server_request
from corpus.reranking.rules import auc
from kit.errors import Refused
from llm.gateway import Gateways
from llm.reranking import unpack

LEAST_AUC: Final = 0.9
# (query, what answers it, what does not).
PAIRS: Final = (
    (
        "Why is the sky blue during the day?",
        "The sky is blue during the day because air scatters short wavelengths of sunlight most.",
        "Bread dough rises as yeast turns sugar into gas.",
    ),
    (
        "How do bees make honey?",
        "Bees make honey from nectar, which they thicken by fanning it with their wings.",
        "A suspension bridge hangs from cables over towers.",
    ),
    (
        "What causes ocean tides?",
        "Ocean tides are caused by the pull of the moon and, to a lesser part, of the sun.",
        "Chess is played on a board of sixty-four squares.",
    ),
    (
        "How does a vaccine protect from disease?",
        "A vaccine protects from disease by teaching the immune system to know a germ.",
        "Violins have four strings tuned in fifths.",
    ),
    (
        "Why do leaves change colour in autumn?",
        "In autumn leaves change colour since chlorophyll breaks down and other pigments show.",
        "The invoice has to be paid within thirty days.",
    ),
    (
        "How is steel made from iron?",
        "Steel is made from iron by removing carbon and adding small parts of other metals.",
        "Penguins huddle together to keep warm.",
    ),
    (
        "What is a prime number?",
        "A prime number is a whole number above one that only one and itself divide.",
        "Tomatoes need sun and regular water.",
    ),
    (
        "How do solar panels produce electricity?",
        "Solar panels produce electricity when light frees electrons in layers of silicon.",
        "The novel tells of a family over three generations.",
    ),
    (
        "Why does ice float on water?",
        "Ice floats on water because it is less dense: its molecules form an open lattice.",
        "Referees show a yellow card for a warning.",
    ),
    (
        "How do computers store numbers?",
        "Computers store numbers as patterns of bits, each of which is zero or one.",
        "Goat cheese goes well with figs.",
    ),
)


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
