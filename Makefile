# Every command of the project, one line each. Needs Python 3.11, make and git; nothing else.
PYTHON ?= python3
VENV := .venv
PY := $(VENV)/bin/python
ASSAY_DATA ?= $(CURDIR)/var
SHOTS ?= $(ASSAY_DATA)/screens
export ASSAY_DATA
# A third of the suite's time is waiting: for servers of its own, for the disk. Files that are named
# (ARGS=tests/kit/test_words.py) have begun before a second process is there: -n in ARGS goes first.
# Who is done takes tests from the others (worksteal): dealt in lots, one was left with the last.
WORKERS ?= $(if $(findstring .py,$(ARGS)),0,$(shell expr $$(nproc 2>/dev/null || echo 2) + 1))
# Without it every process compiles every module anew: half the time of its start.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run setup test check e2e test-services chaos chaos-answers bench fuzz lock clean

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*##' Makefile | sed -E 's/:.*##/\t/' | expand -t 18

run: $(VENV)/run.stamp ## start Assay here: web, worker, practice model (PORT=8001 to move it)
	@exec $(PY) manage.py serve

setup: $(VENV)/run.stamp ## environment, secret key and database, for the manage.py commands
	@$(PY) manage.py prepare

test: $(VENV)/dev.stamp ## the test suite, on SQLite and without any server
	$(PY) -m pytest -n $(WORKERS) --dist worksteal $(ARGS)

check: $(VENV)/dev.stamp ## style, types, import contracts, migrations, templates, API schema
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/lint-imports
	$(PY) .ci/with-key $(PY) manage.py makemigrations --check --dry-run --verbosity 0
	$(PY) .ci/with-key $(PY) manage.py spectacular --validate --fail-on-warn --file /dev/null
	$(PY) .ci/with-key $(VENV)/bin/mypy
	$(VENV)/bin/djlint templates --lint --quiet

e2e: $(VENV)/dev.stamp ## the whole path in headless Chromium (apt: chromium-headless-shell); pictures in SHOTS
	SHOTS="$(SHOTS)" $(PY) -m pytest -p playwright -m e2e -n 2 --dist loadfile --durations 15 tests/e2e $(ARGS)

test-services: $(VENV)/dev.stamp ## the suite with what is slow, on PostgreSQL too; faults on RabbitMQ and Redis
	.ci/services $(PY) $(PART)

chaos: $(VENV)/dev.stamp ## kill workers N times over 5,000 pairs, and check what is left (N=200)
	$(PY) -m tests.chaos.reading
	$(PY) -m tests.chaos --kills $(or $(N),200) --patient $(ARGS)

chaos-answers: $(VENV)/dev.stamp ## the same over 10,000 generated answers, three graders, a judge of citations (N=20)
	GRADE_KILLS=$(or $(N),20) GRADE_ANSWERS=10000 $(PY) -m pytest -n 0 -s -m services tests/services/test_graders_killed.py $(ARGS)

bench: $(VENV)/dev.stamp ## speed, as ratios against an anchor in the same run
	$(PY) -m tests.bench

fuzz: $(VENV)/dev.stamp ## break files for every importer (SECONDS=3600 for an hour)
	$(PY) -m tests.fuzz --seconds $(or $(SECONDS),60) $(ARGS)

lock: $(VENV)/dev.stamp ## requirements*.txt anew from requirements*.in
	for f in requirements requirements-scale requirements-dev; do $(VENV)/bin/uv pip compile -q --generate-hashes --python-version 3.11 --no-emit-index-url --no-emit-find-links $$f.in -o $$f.txt; done

clean: ## remove the environment; the data folder stays
	rm -rf $(VENV)

$(VENV)/run.stamp: requirements.txt
	@$(PYTHON) config/install.py $@ $^

$(VENV)/dev.stamp: requirements.txt requirements-scale.txt requirements-dev.txt
	@$(PYTHON) config/install.py $@ $^
