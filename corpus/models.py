"""Texts and labels: what came in through importers, and every relevance label given since."""

from corpus.benchmarks.models import (
    Benchmark,
    Domain,
    Invitation,
    Layer,
    Licence,
    Membership,
    Role,
)
from corpus.cleaning.models import (
    CleanedPage,
    CleaningPreset,
    CleaningRun,
    Crosswalk,
    PageState,
    Violation,
    ViolationPolicy,
)
from corpus.computing.models import RunComputation
from corpus.imports.models import ImportRun
from corpus.judgments.models import GoldVersion, Judgment, Source, Status
from corpus.pages.models import CollectedPage, PageFetch
from corpus.pools.models import Pool, PoolBuild, PoolEntry
from corpus.reranking.models import RerankItem, RerankMethod, RerankRun, RerankState
from corpus.runs.models import RankedList, RetrievalRun
from corpus.texts.models import (
    CorpusVersion,
    Document,
    Passage,
    PassageIndexRun,
    Query,
    VersionState,
)
from corpus.webhooks.models import Delivery, Webhook
from corpus.wordings.models import (
    ExpansionItem,
    ExpansionMethod,
    ExpansionRound,
    ExpansionRun,
    ExpansionState,
    QuerySource,
    Wording,
)
