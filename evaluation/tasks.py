"""Background work of this room."""

from celery import shared_task

from evaluation.agents.judging import JudgePump
from evaluation.agents.running import AgentPump
from evaluation.chain.services import advance
from evaluation.leaderboard import noise
from evaluation.models import (
    AgentRun,
    Chain,
    GradeRun,
    JudgeRun,
    NoiseCheck,
    PipelineRun,
    RagRun,
    Release,
    ReleasePush,
    ScoreSheet,
    SupportRun,
    TrainingRun,
    Transfer,
)
from evaluation.pipelines import running as pipelines
from evaluation.rag import grading
from evaluation.rag import services as rag
from evaluation.rag.grading import GradePump
from evaluation.rag.running import AnswerPump
from evaluation.releases import building, pushing
from evaluation.scores import sheets
from evaluation.support import services as support
from evaluation.training import services as training
from evaluation.training.running import TrainingPump
from evaluation.transfer import services as transfers
from kit.runs.driving import Drive
from kit.runs.polling import claimed_task

build_release = claimed_task(Release, building.carry_out, "benchmark")
push_release = claimed_task(ReleasePush, pushing.carry_out, "of_release__benchmark")
score_benchmark = claimed_task(ScoreSheet, sheets.carry_out, "benchmark")
check_noise = claimed_task(NoiseCheck, noise.carry_out, "benchmark")
advance_chain = claimed_task(Chain, advance, "benchmark")
transfer = claimed_task(Transfer, transfers.carry_out, "benchmark")


@shared_task(name=PipelineRun.task_name)
def carry_pipeline_on(run_id: int) -> None:
    """Carry a pipeline on for a turn; harmless when delivered twice."""
    pipelines.take_turn(run_id)


AGENTS = Drive(AgentRun, work=AgentPump.take_groups, related=("benchmark", "retrieval_run"))
JUDGES = Drive(JudgeRun, work=JudgePump.take_groups)
RAG = Drive(RagRun, work=AnswerPump.take_groups, plan=rag.plan, close=rag.close)
GRADES = Drive(GradeRun, work=GradePump.take_groups, plan=grading.plan, close=grading.close)
TRAINING = Drive(
    TrainingRun,
    work=TrainingPump.take_groups,
    close=training.close,
    related=("benchmark", "source", "corpus_version"),
)
SUPPORT = Drive(
    SupportRun,
    work=support.SupportPump.take_groups,
    plan=support.plan,
    related=("benchmark", "support_set"),
)
run_agent, judge_answers, answer_queries = AGENTS.task(), JUDGES.task(), RAG.task()
grade_answers, make_training_data = GRADES.task(), TRAINING.task()
judge_support = SUPPORT.task()
