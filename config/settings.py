"""Settings, all from the environment; docs/settings.md lists the same knobs for operators.

Safe by default: debug is off, hosts are loopback, and a start outside debug without a secret key
of one's own is refused (config/safety.py). `make run` generates that key into the data folder.
"""

import logging
import os
import re
import sys
from pathlib import Path

from config.nouns import NOUNS
from config.safety import (
    Env,
    check_address,
    check_choice,
    check_environment,
    check_groups,
    check_header,
    check_key,
    check_networks,
    check_path,
    check_provider,
    check_rate,
    check_sockets,
    data_folder,
    keep_private,
    read_mail_server,
    read_secret_key,
    read_seed_key,
    read_storage,
    say_in_one_line,
)

sys.excepthook = say_in_one_line
env = Env()
BASE_DIR = Path(__file__).resolve().parent.parent

# --- Where things are kept -------------------------------------------------------------------
# Everything that Assay writes: database, secret key, uploads, releases.
ASSAY_DATA = data_folder()
# The database; SQLite in the data folder unless told otherwise (postgres://user:pass@host/name).
DATABASE_URL = env.str("DATABASE_URL", default="") or f"sqlite:///{ASSAY_DATA / 'assay.sqlite3'}"
check_address("DATABASE_URL", DATABASE_URL, ("sqlite", "postgres", "postgresql"))
# Files people upload for import, kept until the import is over.
UPLOADS = ASSAY_DATA / "uploads"
# Pages that experts collect, as they came, under their hashes.
PAGES = ASSAY_DATA / "pages"
# Releases built from the screens.
RELEASES = ASSAY_DATA / "releases"
# Indexes of corpora that were ranked here, under the hash of what they hold; may be deleted.
INDEXES = ASSAY_DATA / "indexes"

# One storage for uploads, pages, releases, indexes and files of benchmarks, where machines share no
# disk: s3://bucket/folder?endpoint_url=https://...; empty means the data folder.
ASSAY_STORAGE = env.str("ASSAY_STORAGE", default="")

# How many copies of the database that `make run` makes before upgrades are kept in backups/; 0
# makes none.
ASSAY_BACKUPS = env.number("ASSAY_BACKUPS", 3)

# --- Safety ----------------------------------------------------------------------------------
# Never on where others can reach the server: debug pages show settings and code.
DEBUG = env.bool("DEBUG", default=False)
# Signs sessions, links and fences; from the environment or the data folder, never from here.
SECRET_KEY = read_secret_key(env.str("SECRET_KEY", default=""), ASSAY_DATA, debug=DEBUG)
# Earlier keys, comma separated: what they signed is still good.
SECRET_KEY_FALLBACKS = env.list("SECRET_KEY_FALLBACKS", default=[])
# What stays when the secret key changes: draws, orders, pseudonyms, fences, the chain of votes.
SEED_KEY = read_seed_key(env.str("SEED_KEY", default=""), ASSAY_DATA, secret_key=SECRET_KEY)
# Host names this server answers to, comma separated.
ALLOWED_HOSTS = env.list("ALLOWED_HOSTS", default=["127.0.0.1", "localhost", "[::1]"])
# Set when Assay stands behind a TLS proxy: secure cookies and HSTS.
BEHIND_TLS = env.bool("BEHIND_TLS", default=False)
# Proxies whose X-Forwarded-For is believed, as addresses or networks, comma separated.
TRUSTED_PROXIES = env.list("TRUSTED_PROXIES", default=["127.0.0.1", "::1"] if BEHIND_TLS else [])
# Origins (https://assay.example) from which forms are accepted, behind a proxy.
CSRF_TRUSTED_ORIGINS = env.list("CSRF_TRUSTED_ORIGINS", default=[])
for _origin in CSRF_TRUSTED_ORIGINS:
    check_address("CSRF_TRUSTED_ORIGINS", _origin, ("https", "http"))
# The path that a proxy serves Assay under and takes away, such as /assay; empty is the root.
FORCE_SCRIPT_NAME = env.str("FORCE_SCRIPT_NAME", default="") or None
check_path("FORCE_SCRIPT_NAME", FORCE_SCRIPT_NAME or "")
# Where finders of a weakness turn to, mailto:... or https://...: /.well-known/security.txt.
SECURITY_CONTACT = env.str("SECURITY_CONTACT", default="")
check_address("SECURITY_CONTACT", SECURITY_CONTACT, ("mailto", "https", "tel"))
# Settled quietly here; `make run` and `make setup` say so where the folder cannot be shut.
keep_private(ASSAY_DATA)
check_environment(secret_key=SECRET_KEY, allowed_hosts=ALLOWED_HOSTS, debug=DEBUG)
for _key in SECRET_KEY_FALLBACKS:
    check_key("SECRET_KEY_FALLBACKS", _key)
check_networks(TRUSTED_PROXIES)

# --- Machines --------------------------------------------------------------------------------
# An OpenAI-compatible endpoint; with neither set, the practice model answers.
OPENAI_BASE_URL = env.str("OPENAI_BASE_URL", default="")
check_address("OPENAI_BASE_URL", OPENAI_BASE_URL, ("https", "http"))
# The key of that endpoint; shown on no screen, stored in no row.
OPENAI_API_KEY = env.str("OPENAI_API_KEY", default="")
# The model name asked for at that endpoint.
ASSAY_MODEL = env.str("ASSAY_MODEL", default="llama-3.3-70b-instruct")
# A proxy for that endpoint; those of the environment are not asked.
OPENAI_PROXY = env.str("OPENAI_PROXY", default="")
# What may be asked there per minute by all workers together; 0 is no limit.
OPENAI_REQUESTS_PER_MINUTE = env.number("OPENAI_REQUESTS_PER_MINUTE", 0)
OPENAI_TOKENS_PER_MINUTE = env.number("OPENAI_TOKENS_PER_MINUTE", 0)
# The model of each role by default, as "endpoint/model": ASSAY_MODEL_JUDGE, ASSAY_MODEL_EMBEDDER.
ASSAY_MODEL_OF_ROLE = {
    name.removeprefix("ASSAY_MODEL_").lower(): value
    for name, value in os.environ.items()
    if name.startswith("ASSAY_MODEL_")
}
# Whether a run asks a model that nobody has asked yet one tiny question before its first call.
ASSAY_TRY_FIRST = env.bool("ASSAY_TRY_FIRST", default=True)
# A TOML or JSON file of further endpoints, and a JSON file of prices (docs/endpoints.md).
ASSAY_ENDPOINTS = env.str("ASSAY_ENDPOINTS", default="")
ASSAY_PRICES = env.str("ASSAY_PRICES", default="")
# A folder of tokenizer.json files, by name, that texts may be cut with (docs/settings.md).
ASSAY_TOKENIZERS = env.str("ASSAY_TOKENIZERS", default="")
# Where the practice model listens; `make run` sets it.
ASSAY_PRACTICE_URL = env.str("ASSAY_PRACTICE_URL", default="")
check_address("ASSAY_PRACTICE_URL", ASSAY_PRACTICE_URL, ("https", "http"))
# Model calls in flight of each worker at a run.
ASSAY_CALLS_IN_FLIGHT = env.number("ASSAY_CALLS_IN_FLIGHT", 16, least=1)

# --- Background work -------------------------------------------------------------------------
# A broker (amqp://..., redis://...) for workers on several machines; empty means that PostgreSQL,
# or a file beside SQLite's, wakes them.
BROKER_URL = env.str("BROKER_URL", default="")
check_address("BROKER_URL", BROKER_URL, ("amqp", "amqps", "redis", "rediss"))
# The queue's name: Assays that share a broker need names of their own.
ASSAY_QUEUE = env.str("ASSAY_QUEUE", default="assay")
# Seconds between two looks at the database for work that nobody told the workers of: what a dead
# worker left, or a lost message.
ASSAY_SWEEP_SECONDS = env.number("ASSAY_SWEEP_SECONDS", 20.0, least=0.1)
# Touched when work falls due, where neither a broker nor PostgreSQL can carry the word.
WAKE_FILE = ASSAY_DATA / "wake"
# Seconds after which silent work is taken over by another worker.
ASSAY_LEASE_SECONDS = env.number("ASSAY_LEASE_SECONDS", 30.0, least=1)
# Seconds after which a worker puts a run that asks models back into the queue, behind others.
ASSAY_PUMP_SECONDS = env.number("ASSAY_PUMP_SECONDS", 300.0, least=1)
# Such runs at once in one worker process; fewer than its threads, which imports need too.
ASSAY_RUNS_AT_ONCE = max(1, env.number("ASSAY_RUNS_AT_ONCE", 2))

# --- Health ----------------------------------------------------------------------------------
# Bytes that the data folder's disk must have free for Assay to call itself ready.
ASSAY_MIN_FREE = env.number("ASSAY_MIN_FREE", 500 * 1024 * 1024)
# The key that asks for /-/metrics; without one there is no such page.
METRICS_KEY = env.str("METRICS_KEY", default="")

# --- Apps ------------------------------------------------------------------------------------
INSTALLED_APPS = [
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "django_htmx",
    "template_partials.apps.SimpleAppConfig",
    "csp",
    "kit",
    "llm",
    "corpus",
    "annotate",
    "debate",
    "evaluation",
]

MIDDLEWARE = [
    "kit.middleware.numbered_requests",
    "kit.database.time_limit.limited_statements",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "kit.middleware.ZippedPages",
    "kit.middleware.private_pages",
    "csp.middleware.CSPMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "kit.account.entering.SecondFactorGate",
    "django.contrib.messages.middleware.MessageMiddleware",
    "annotate.drafts.middleware.DraftsSettledMiddleware",
    "corpus.hidden.recorded_reads",
    "kit.uploads.UploadLimitMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "kit.middleware.LoginExpiredMiddleware",
    "kit.middleware.HtmxMessagesMiddleware",
    "kit.middleware.RefusalShownMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

_LOADERS: list[object] = [
    "django.template.loaders.filesystem.Loader",
    "django.template.loaders.app_directories.Loader",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "OPTIONS": {
            "builtins": [
                "template_partials.templatetags.partials",
                "kit.templatetags.figures",
                "kit.templatetags.assay",
            ],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "corpus.navigation.named_benchmark",
            ],
            "loaders": [
                (
                    "template_partials.loader.Loader",
                    _LOADERS if DEBUG else [("django.template.loaders.cached.Loader", _LOADERS)],
                )
            ],
        },
    }
]

# --- Database --------------------------------------------------------------------------------
_database = env.db_url_config(DATABASE_URL)
if _database["ENGINE"] == "django.db.backends.sqlite3":
    # Writers queue for the lock at BEGIN instead of failing at their first write; WAL lets
    # readers go on meanwhile.
    _database["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 20,
        # The first is heard by a new file only; the last is the length to which the log is cut.
        "init_command": (
            "PRAGMA auto_vacuum=INCREMENTAL; PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL; "
            "PRAGMA foreign_keys=ON; PRAGMA cache_size=-20000; PRAGMA journal_size_limit=67108864;"
        ),
    }
    # Opening the file costs more than most questions to it, and the last to close it empties the
    # log into it.
    _database["CONN_MAX_AGE"] = 60
    # A file, as in real use: threads and processes of a test see what others committed.
    _database["TEST"] = {"NAME": str(ASSAY_DATA / "tests.sqlite3")}
else:
    _database["ENGINE"] = "kit.database.postgresql"
    _database["CONN_MAX_AGE"] = env.number("CONN_MAX_AGE", 60)
    _database["CONN_HEALTH_CHECKS"] = True
    # The queries of kit/database/prepared.py are planned at their third time on a connection, and
    # kept; not behind a pooler that lends its connections for one transaction only.
    _keeps_plans = env.bool("ASSAY_KEEP_PLANS", default=True)
    _database.setdefault("OPTIONS", {})["prepare_threshold"] = 2 if _keeps_plans else None
    # Compiling a query takes longer than any list here may, and indexes lie on disks (or in
    # memory) that find any page at about the same price. A process that is suspended inside a
    # transaction loses it after an hour (no reading pauses so long), and the rows that it keeps.
    # `?options=...` in the URL goes first.
    _database.setdefault("OPTIONS", {}).setdefault(
        "options",
        "-c jit=off -c random_page_cost=1.1 -c idle_in_transaction_session_timeout=1h",
    )
DATABASES = {"default": _database}

# --- People ----------------------------------------------------------------------------------
LOGIN_URL = "sign-in"
LOGIN_REDIRECT_URL = "home"
LOGOUT_REDIRECT_URL = "sign-in"
# An identity provider (OpenID Connect), by these three; docs/settings.md, "An identity provider".
OIDC_ISSUER = env.str("OIDC_ISSUER", default="").rstrip("/")
OIDC_CLIENT_ID = env.str("OIDC_CLIENT_ID", default="")
OIDC_CLIENT_SECRET = env.str("OIDC_CLIENT_SECRET", default="")
# What is asked for; providers that name groups often want one more word, such as "groups".
OIDC_SCOPES = env.str("OIDC_SCOPES", default="openid email profile")
# {"group": {"benchmark": "slug", "roles": ["annotator"], "domains": ["biology"]}, ...}
OIDC_GROUPS = check_groups(env.json("OIDC_GROUPS", default={}))
AUTHENTICATION_BACKENDS = ["django.contrib.auth.backends.ModelBackend"]
if OIDC_ISSUER:
    check_provider(OIDC_ISSUER, OIDC_CLIENT_ID, OIDC_CLIENT_SECRET)
    AUTHENTICATION_BACKENDS.append("kit.account.provider.ProviderBackend")
# A header in which one of TRUSTED_PROXIES says who is there, such as X-Forwarded-User; and whether
# who has no account gets one.
TRUSTED_HEADER = env.str("TRUSTED_HEADER", default="")
TRUSTED_HEADER_NEW_PEOPLE = env.bool("TRUSTED_HEADER_NEW_PEOPLE", default=False)
check_header(TRUSTED_HEADER, TRUSTED_PROXIES)
if TRUSTED_HEADER:
    AUTHENTICATION_BACKENDS.append("kit.account.header.HeaderBackend")
    _after = MIDDLEWARE.index("django.contrib.messages.middleware.MessageMiddleware") + 1
    MIDDLEWARE.insert(_after, "kit.account.header.TrustedHeaderMiddleware")
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.Argon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]
# The server that sends mail, smtp+tls://user:password@host:587; without one, whoever needs a new
# sign-in link waits for an admin.
EMAIL_URL = env.str("EMAIL_URL", default="")
vars().update(read_mail_server(EMAIL_URL))
EMAIL_TIMEOUT = 20
# From whom mail comes.
DEFAULT_FROM_EMAIL = env.str("MAIL_FROM", default="Assay <assay@localhost>")
# Who must have a second factor: nobody (empty), or staff, which is also every benchmark's admins.
REQUIRE_SECOND_FACTOR = env.str("REQUIRE_SECOND_FACTOR", default="")
check_choice("REQUIRE_SECOND_FACTOR", REQUIRE_SECOND_FACTOR, ("", "staff"))
# Days a one-time sign-in link stays good.
SIGN_IN_LINK_DAYS = env.number("SIGN_IN_LINK_DAYS", 7, least=1)
# Another site may live beside ours on the same host.
SESSION_COOKIE_PATH = CSRF_COOKIE_PATH = f"{FORCE_SCRIPT_NAME or ''}/"
SESSION_COOKIE_AGE = 60 * 60 * 24 * 14
# Pages carry the token; no script needs the cookie.
CSRF_COOKIE_HTTPONLY = True
SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = SECURE_SSL_REDIRECT = BEHIND_TLS
SECURE_HSTS_SECONDS = 31_536_000 if BEHIND_TLS else 0
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if BEHIND_TLS else None
# Probes come from inside, past the proxy.
SECURE_REDIRECT_EXEMPT = [f"^{re.escape((FORCE_SCRIPT_NAME or '').lstrip('/'))}/?-/"]
SECURE_REFERRER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
# Subdomains, and a browser's list for good, are for the owner of the domain to decide.
SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]

from csp.constants import NONCE, NONE, SELF  # noqa: E402  (constants only, after the knobs)

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "script-src": [SELF, NONCE],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "font-src": [SELF],
        "connect-src": [SELF],
        "form-action": [SELF],
        "base-uri": [NONE],
        "frame-ancestors": [NONE],
        "report-uri": [f"{FORCE_SCRIPT_NAME or ''}/csp-report/"],
    }
}

# --- Language and time -----------------------------------------------------------------------
LANGUAGE_CODE = "en"
TIME_ZONE = "UTC"
USE_TZ = True
USE_I18N = False

# --- Static files ----------------------------------------------------------------------------
STATIC_URL = f"{FORCE_SCRIPT_NAME or ''}/static/"
STATIC_ROOT = ASSAY_DATA / "static"
STATICFILES_DIRS = [BASE_DIR / "static"]
_MANIFEST = "config.static.BundledFiles"
_PLAIN = "django.contrib.staticfiles.storage.StaticFilesStorage"
# Set by tests and by `runserver`: plain names, files straight from the source folders.
ASSAY_PLAIN_STATIC = env.bool("ASSAY_PLAIN_STATIC", default=DEBUG or "pytest" in sys.modules)
# What every page loads, in this order; single files where names are plain.
STATIC_BUNDLES = {
    "css/all.css": [
        f"css/{name}.css"
        for name in ("tokens", "layout", "controls", "tables", "reading", "work", "print")
    ],
    "js/all.js": [
        f"js/{name}.js"
        for name in (
            *("app", "shortcuts", "sign", "bases", "drafts", "autosave", "fields", "worktime"),
            "spans",
        )
    ],
}
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": _PLAIN if ASSAY_PLAIN_STATIC else _MANIFEST},
}
if ASSAY_STORAGE:
    STORAGES["files"] = read_storage(ASSAY_STORAGE)
WHITENOISE_USE_FINDERS = ASSAY_PLAIN_STATIC
MEDIA_ROOT = UPLOADS
# Large files come in here, where those of a killed process are swept up, and not to the system's.
FILE_UPLOAD_TEMP_DIR = ASSAY_DATA if ASSAY_DATA.is_dir() else None
# The largest file that is taken from a browser; larger ones are loaded by command.
DATA_UPLOAD_MAX_MEMORY_SIZE = 8 * 1024 * 1024
ASSAY_UPLOAD_LIMIT = env.number("ASSAY_UPLOAD_LIMIT", 512 * 1024 * 1024, least=1)
# What the compressed files of one import may unpack to, in bytes.
ASSAY_IMPORT_LIMIT = env.number("ASSAY_IMPORT_LIMIT", 8 * 1024**3, least=1)
# How often a person, an API token and a person with files may ask in a time ("600/min"); empty is
# no limit.
ASSAY_RATES = {
    "person": env.str("ASSAY_RATE_PERSON", default="1200/min"),
    "token": env.str("ASSAY_RATE_TOKEN", default="600/min"),
    "uploads": env.str("ASSAY_RATE_UPLOADS", default="120/hour"),
    "reports": "20/min",  # of a browser's, kit/health/views.py
}
for _name, _rate in ASSAY_RATES.items():
    check_rate(f"ASSAY_RATE_{_name.upper()}", _rate)
# A Redis that web processes count together in, redis://...; without one each counts by itself.
LIMITS_CACHE = env.str("LIMITS_CACHE", default="")
check_address("LIMITS_CACHE", LIMITS_CACHE, ("redis", "rediss"))
CACHES: dict[str, dict[str, object]] = {
    "default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"},
    "limits": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "LOCATION": "limits",
        "OPTIONS": {"MAX_ENTRIES": 20_000},
    },
}
if LIMITS_CACHE:
    CACHES["limits"] = {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": LIMITS_CACHE,
        "KEY_PREFIX": ASSAY_QUEUE,
    }
# What a new benchmark may use together, until staff change it: bytes of pages and imported files,
# calls to models, USD for them; 0 is no limit.
ASSAY_QUOTA_BYTES = env.number("ASSAY_QUOTA_BYTES", 100 * 1024**3)
ASSAY_QUOTA_CALLS = env.number("ASSAY_QUOTA_CALLS", 0)
ASSAY_QUOTA_USD = env.number("ASSAY_QUOTA_USD", 0.0)
# Seconds for a statement of a page that is only looked at, and for one behind what is sent; 0 is no
# limit.
ASSAY_QUERY_SECONDS = env.number("ASSAY_QUERY_SECONDS", 20.0)
ASSAY_WRITE_SECONDS = env.number("ASSAY_WRITE_SECONDS", 60.0)
# A folder on this machine whose files admins may import without uploading them; empty means none.
ASSAY_IMPORT_FOLDER = env.str("ASSAY_IMPORT_FOLDER", default="")
FILE_UPLOAD_HANDLERS = [
    "kit.uploads.UploadGate",  # first: it stands before those that write
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]

# Pages that experts collect are fetched from the public web only. Addresses of your own network
# that may be fetched as well, as address:port, comma separated (10.1.2.3:443).
ASSAY_FETCH_ALSO = env.list("ASSAY_FETCH_ALSO", default=[])
check_sockets("ASSAY_FETCH_ALSO", ASSAY_FETCH_ALSO)
# Seconds of processor time for reading one of them, or an upload for import, which has ten more for
# each megabyte; what takes more is refused.
ASSAY_READ_SECONDS = env.number("ASSAY_READ_SECONDS", 60, least=1)

# --- API -------------------------------------------------------------------------------------
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "kit.account.tokens.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": [
        "kit.parsers.ShallowJSONParser",
        "rest_framework.parsers.MultiPartParser",
    ],
    "DEFAULT_THROTTLE_CLASSES": [
        "kit.account.rates.PersonRate",
        "kit.account.rates.TokenRate",
        "kit.account.rates.UploadRate",
    ],
    "DEFAULT_SCHEMA_CLASS": "kit.schema.RouteSchema",
    "EXCEPTION_HANDLER": "kit.api.handle_error",
}
# By the package that holds their routes.
API_NOUNS = NOUNS
SPECTACULAR_SETTINGS = {
    "TITLE": "Assay API",
    "DESCRIPTION": (
        "Every verb of the screens, for scripts. Make a token under Account and send it in the "
        "header “Authorization: Token assay_...”. A token of the scope “read” changes nothing "
        "(403); “annotate” also does what annotators and reviewers do; “everything I may do” is "
        "what you may do. "
        "A token that expired or was revoked gets 401."
    ),
    "VERSION": "0.2.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "TAGS": [{"name": name, "description": words} for name, words in dict.fromkeys(NOUNS.values())],
    "ENUM_NAME_OVERRIDES": {
        "CleaningPresetEnum": "corpus.models.CleaningPreset",
        "MethodEnum": "corpus.computing.models.Method",
        "RerankMethodEnum": "corpus.models.RerankMethod",
        "RerankStateEnum": "corpus.models.RerankState",
        "ExpansionMethodEnum": "corpus.models.ExpansionMethod",
        "PipelinePresetEnum": "evaluation.pipelines.plan.CHOICES",
        "ExpansionStateEnum": "corpus.models.ExpansionState",
        "RunStatusEnum": "kit.runs.models.RunStatus",
        "DebateStatusEnum": "debate.models.DebateStatus",
        "DebateRunKindEnum": "debate.models.RunKind",
        "TrialKindEnum": "debate.models.TrialKind",
        "StanceEnum": "debate.runs.configuration.STANCES",
        "AgentStateEnum": "evaluation.models.AgentState",
        "VerdictStateEnum": "evaluation.models.VerdictState",
        "JudgeModeEnum": "evaluation.models.JUDGE_MODES",
        "CaseStatusEnum": "annotate.models.CaseStatus",
        "BatchStatusEnum": "annotate.models.BatchStatus",
        "ReviewStatusEnum": "annotate.models.ReviewStatus",
        "PanelStatusEnum": "annotate.models.PanelStatus",
        "PointStatusEnum": "annotate.models.PointStatus",
        "PointKindEnum": "annotate.models.PointKind",
        "LabelStatusEnum": "corpus.models.Status",
        "CallStatusEnum": "llm.models.Call.Status",
        "ChangeKindEnum": "annotate.models.ChangeKind",
    },
    "SWAGGER_UI_DIST": "SIDECAR",
    # Script, not JSON: AssayPage is in static/js/api.js.
    "SWAGGER_UI_SETTINGS": (
        "{plugins: [AssayPage], layout: 'AssayLayout', deepLinking: true, docExpansion: 'none', "
        "filter: true, defaultModelsExpandDepth: -1}"
    ),
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
}

# --- Celery ----------------------------------------------------------------------------------
# Without a broker each worker keeps its own in-memory queue, filled by polling the database.
CELERY_BROKER_URL = BROKER_URL or "memory://localhost"
if not BROKER_URL:  # how often a worker looks into its own queue, in seconds; else once a second
    CELERY_BROKER_TRANSPORT_OPTIONS = {"polling_interval": 0.2}
CELERY_TASK_DEFAULT_QUEUE = ASSAY_QUEUE
CELERY_TASK_ACKS_LATE = False  # the row is the truth; a lost message is found again by polling
CELERY_TASK_IGNORE_RESULT = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
# Workers of other Assays on the same broker would hear each other's commands.
CELERY_WORKER_ENABLE_REMOTE_CONTROL = False
CELERY_WORKER_SEND_TASK_EVENTS = False
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TIMEZONE = TIME_ZONE

# --- Publishing ------------------------------------------------------------------------------
# The hub that releases are pushed to; another address for a mirror or a server of one's own.
HF_ENDPOINT = env.str("HF_ENDPOINT", default="https://huggingface.co")
check_address("HF_ENDPOINT", HF_ENDPOINT, ("https", "http"))
# A token that may write there; shown on no screen, stored in no row.
HF_TOKEN = env.str("HF_TOKEN", default="")

# --- Logging ---------------------------------------------------------------------------------
# "plain" for people, "json" for machines (kit/health/logs.py).
LOG_FORMAT = env.str("LOG_FORMAT", default="plain")
check_choice("LOG_FORMAT", LOG_FORMAT, ("plain", "json"))
LOG_LEVEL = env.str("LOG_LEVEL", default="").upper() or "INFO"
check_choice("LOG_LEVEL", LOG_LEVEL, tuple(logging.getLevelNamesMapping()))
# Statements that take longer, in milliseconds, are a line of the log, without values; 0 is none.
LOG_SLOW_QUERY_MS = env.number("LOG_SLOW_QUERY_MS", 0)
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {
        "plain": {
            "()": "kit.health.logs.PlainLines",
            "fmt": "{asctime} {levelname} {name}: {message}",
            "style": "{",
        },
        "json": {"()": "kit.health.logs.JsonLines"},
    },
    "filters": {"requests": {"()": "kit.middleware.RequestLines"}},
    "handlers": {
        "console": {
            "class": "logging.StreamHandler",
            "formatter": LOG_FORMAT,
            "filters": ["requests"],
        }
    },
    "loggers": {
        # A line for every call to a model; the ledger says more.
        "httpx2": {"level": "WARNING"},
        # Three for every exchange with an agent from outside.
        "mcp": {"level": "WARNING"},
        # Of `runserver`, which has a handler of its own otherwise: addresses with tokens.
        "django.server": {"handlers": ["console"], "level": "INFO", "propagate": False},
    },
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
}
