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
from evaluation.releases import pushing
from evaluation.releases.building import carry_out
from evaluation.scores import sheets
from evaluation.support import services as support
from evaluation.training import services as training
from evaluation.training.running import TrainingPump
from evaluation.transfer import services as transfers
from llm.drives import Drive


@shared_task(name="evaluation.build_release")
def build_release(release_id: int) -> None:
    """Build a release that is due; delivered twice it does nothing the second time."""
    release = Release.objects.select_related("benchmark").filter(pk=release_id).first()
    if release is not None and release.claim():
        carry_out(release)


@shared_task(name=ReleasePush.task_name)
def push_release(push_id: int) -> None:
    """Push a release that is due; delivered twice it does nothing the second time."""
    push = ReleasePush.objects.select_related("of_release__benchmark").filter(pk=push_id).first()
    if push is not None and push.claim():
        pushing.carry_out(push)


@shared_task(name=ScoreSheet.task_name)
def score_benchmark(sheet_id: int) -> None:
    """Score every run of a benchmark; harmless when delivered twice."""
    sheet = ScoreSheet.objects.select_related("benchmark").filter(pk=sheet_id).first()
    if sheet is not None and sheet.claim():
        sheets.carry_out(sheet)


@shared_task(name=NoiseCheck.task_name)
def check_noise(check_id: int) -> None:
    """Draw noisy labels and rank anew; harmless when delivered twice."""
    check = NoiseCheck.objects.select_related("benchmark").filter(pk=check_id).first()
    if check is not None and check.claim():
        noise.carry_out(check)


@shared_task(name=AgentRun.task_name)
def run_agent(run_id: int) -> None:
    """Take part in a run of a search agent."""
    AGENTS.take_part(run_id)


@shared_task(name=JudgeRun.task_name)
def judge_answers(run_id: int) -> None:
    """Take part in judging answers."""
    JUDGES.take_part(run_id)


@shared_task(name=PipelineRun.task_name)
def carry_pipeline_on(run_id: int) -> None:
    """Carry a pipeline on for a turn; harmless when delivered twice."""
    pipelines.take_turn(run_id)


@shared_task(name=RagRun.task_name)
def answer_queries(run_id: int) -> None:
    """Take part in answering from what systems retrieved."""
    RAG.take_part(run_id)


@shared_task(name=GradeRun.task_name)
def grade_answers(run_id: int) -> None:
    """Take part in grading generated answers."""
    GRADES.take_part(run_id)


@shared_task(name=Chain.task_name)
def advance_chain(chain_id: int) -> None:
    """Take a chain as far as it goes now; delivered twice it begins nothing twice."""
    chain = Chain.objects.select_related("benchmark").filter(pk=chain_id).first()
    if chain is not None and chain.claim():
        advance(chain)


@shared_task(name=TrainingRun.task_name)
def make_training_data(run_id: int) -> None:
    """Take part in making training data."""
    TRAINING.take_part(run_id)


@shared_task(name=SupportRun.task_name)
def judge_support(run_id: int) -> None:
    """Take part in judging citations."""
    SUPPORT.take_part(run_id)


@shared_task(name=Transfer.task_name)
def transfer(run_id: int) -> None:
    """Write or merge the file of a benchmark; delivered twice it does nothing the second time."""
    run = Transfer.objects.select_related("benchmark").filter(pk=run_id).first()
    if run is not None and run.claim():
        transfers.carry_out(run)


AGENTS = Drive(
    AgentRun,
    work=AgentPump.take_groups,
    close=AgentRun.finish,
    related=("benchmark", "retrieval_run"),
)
JUDGES = Drive(JudgeRun, work=JudgePump.take_groups, close=JudgeRun.finish)
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
    close=SupportRun.finish,
    related=("benchmark", "support_set"),
)
