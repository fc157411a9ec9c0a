"""Background work of the annotate room."""

from annotate.workspace.loading import run_import
from corpus.models import ImportRun
from kit.runs.polling import claimed_task

import_benchmark = claimed_task(ImportRun, run_import)
