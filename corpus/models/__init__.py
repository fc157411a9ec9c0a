"""Texts and labels: what came in through importers, and every relevance label given since."""

from corpus.models.benchmark import Benchmark, Domain, Membership, Role
from corpus.models.cleaning import (
    CleanedPage,
    CleaningPreset,
    CleaningRun,
    Crosswalk,
    PageState,
    Violation,
    ViolationPolicy,
)
from corpus.models.computations import RunComputation
from corpus.models.imports import ImportRun
from corpus.models.indexes import PassageIndexRun
from corpus.models.labels import GoldVersion, Judgment, Source, Status
from corpus.models.pages import CollectedPage, PageFetch
from corpus.models.pools import Pool, PoolBuild, PoolEntry
from corpus.models.runs import RankedList, RetrievalRun
from corpus.models.texts import CorpusVersion, Document, Passage, Query, VersionState

__all__ = [
    "Benchmark",
    "CleanedPage",
    "CleaningPreset",
    "CleaningRun",
    "CollectedPage",
    "CorpusVersion",
    "Crosswalk",
    "Document",
    "Domain",
    "GoldVersion",
    "ImportRun",
    "Judgment",
    "Membership",
    "PageFetch",
    "PageState",
    "Passage",
    "PassageIndexRun",
    "Pool",
    "PoolBuild",
    "PoolEntry",
    "Query",
    "RankedList",
    "RetrievalRun",
    "Role",
    "RunComputation",
    "Source",
    "Status",
    "VersionState",
    "Violation",
    "ViolationPolicy",
]
