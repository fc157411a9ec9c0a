"""Small benchmarks for tests, made with the ORM: general, and without surprises."""

import secrets
from collections.abc import Mapping, Sequence

from django.contrib.auth.models import User
from django.utils import timezone

from corpus.models import (
    Benchmark,
    CorpusVersion,
    Document,
    Domain,
    GoldVersion,
    Judgment,
    Membership,
    Passage,
    Pool,
    PoolEntry,
    Query,
    RankedList,
    RetrievalRun,
    Source,
    VersionState,
)
from corpus.texts.indexing import index, request_index
from kit.account.links import digest, use_link
from kit.database.prepared import Prepared
from kit.models import ApiToken

# Asked for every person, query and passage of every world.
_DOMAINS = Prepared(lambda benchmark: Domain.objects.filter(benchmark=benchmark).order_by("name"))
_USERS = Prepared(lambda username: User.objects.filter(username=username))


def make_benchmark(slug: str = "demo", domains: Sequence[str] = ("biology",)) -> Benchmark:
    """An empty benchmark with ready domains and one ready corpus version."""
    benchmark = Benchmark.objects.create(slug=slug, name=slug.title())
    for name in domains:
        Domain.objects.create(benchmark=benchmark, name=name, is_ready=True)
    make_version(benchmark)
    return benchmark


def make_version(benchmark: Benchmark, name: str = "as loaded") -> CorpusVersion:
    """A ready corpus version with a layer of its own."""
    version = CorpusVersion.objects.create(benchmark=benchmark, name=name, state=VersionState.READY)
    version.layers = [version.pk]
    version.save(update_fields=["layers"])
    return version


def domain_of(benchmark: Benchmark, name: str = "") -> Domain:
    """The named (or first) domain."""
    rows = _DOMAINS.rows(benchmark=benchmark.pk)
    found = next(each for each in rows if name in ("", each.name))
    found.benchmark = benchmark
    return found


def make_user(username: str) -> User:
    """A person without a password."""
    return _USERS.first(username=username) or User.objects.create(username=username, password="!")


def make_member(
    benchmark: Benchmark, username: str, *roles: str, domains: Sequence[str] = ()
) -> User:
    """A person with these roles; no domains means every domain."""
    user = make_user(username)
    membership = Membership.objects.create(user=user, benchmark=benchmark, roles=list(roles))
    if domains:
        membership.domains.set(benchmark.domains.filter(name__in=domains))
    return user


def make_members(benchmark: Benchmark, people: Mapping[str, Sequence[str]]) -> list[User]:
    """New people by name with their roles, in every domain."""
    users = User.objects.bulk_create(User(username=name, password="!") for name in people)
    Membership.objects.bulk_create(
        Membership(user=user, benchmark=benchmark, roles=list(people[user.username]))
        for user in users
    )
    return users


def used_by(token: str) -> User | None:
    """Who comes in by the link."""
    link = use_link(token)
    return link and link.user


def make_token(user: User, scope: str = "admin") -> str:
    """A token for scripts of this person, used today, without an event or an end."""
    token = secrets.token_urlsafe(8)
    ApiToken.objects.create(
        user=user, name=scope, scope=scope, token_hash=digest(token), used_on=timezone.now().date()
    )
    return token


def make_query(benchmark: Benchmark, qid: str = "1", domain: str = "", **fields: object) -> Query:
    """A query in the named (or first) domain."""
    fields.setdefault("text", f"What is asked in query {qid}?")
    fields.setdefault("answers", [f"the answer to query {qid}"])
    return Query.objects.create(domain=domain_of(benchmark, domain), qid=qid, **fields)


def make_passage(
    benchmark: Benchmark, pid: str = "page/a_0.txt", domain: str = "", **fields: object
) -> Passage:
    """A passage of the current corpus version; text=None for one that is not loaded."""
    fields.setdefault("text", f"What stands in passage {pid}.")
    version = CorpusVersion.objects.current(benchmark)
    return Passage.objects.create(
        version=version, domain=domain_of(benchmark, domain), pid=pid, **fields
    )


def make_gold(query: Query, *passages: Passage, label: int = 1) -> list[Judgment]:
    """Original labels in the current gold of the query's domain."""
    gold, _ = GoldVersion.objects.get_or_create(
        domain=query.domain, is_current=True, defaults={"name": "as loaded", "digest": "d1"}
    )
    return [
        Judgment.objects.create(
            query=query, passage=passage, label=label, source=Source.ORIGINAL, gold_version=gold
        )
        for passage in passages
    ]


def make_pool(benchmark: Benchmark, *pairs: tuple[Query, Passage], name: str = "pairs") -> Pool:
    """A pool of these pairs."""
    pool = Pool.objects.create(benchmark=benchmark, name=name)
    for query, passage in pairs:
        PoolEntry.objects.create(pool=pool, query=query, passage=passage)
    return pool


def make_document(
    benchmark: Benchmark, doc_id: str = "page/a.html", domain: str = "", **fields: object
) -> Document:
    """A page of the current corpus version."""
    fields.setdefault("text", f"What stands on page {doc_id}.")
    version = CorpusVersion.objects.current(benchmark)
    return Document.objects.create(
        version=version, domain=domain_of(benchmark, domain), doc_id=doc_id, **fields
    )


def make_ranking(
    query: Query, *pids: str, name: str = "bm25", scores: Sequence[float] | None = None
) -> RankedList:
    """What a retrieval run found for the query."""
    benchmark = query.domain.benchmark
    run, _ = RetrievalRun.objects.get_or_create(
        benchmark=benchmark, name=name, defaults={"digest": name}
    )
    run.query_count, run.depth = run.query_count + 1, max(run.depth, len(pids))
    run.save()
    return RankedList.objects.create(run=run, query=query, pids=list(pids), scores=scores)


def index_texts(benchmark: Benchmark) -> None:
    """Make every passage of the benchmark that is there now findable by its words."""
    for version in benchmark.versions.all():
        run = request_index(version)
        if run.claim():
            index(run)
