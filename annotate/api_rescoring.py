"""API of weights scored blind for a sample."""

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotate.models import RescoreSample
from annotate.serializers_reviews import BlindScoresSerializer, ToScoreSerializer
from annotate.services import rescoring as verbs
from annotate.services.blind import unscored
from annotate.views.rescoring import sample_rows
from corpus.access import enter
from corpus.models import Role
from kit.api import Route


class SampleSerializer(serializers.ModelSerializer):
    """A sample with how far it is."""

    drawn = serializers.IntegerField()
    done = serializers.IntegerField()

    class Meta:
        model = RescoreSample
        fields = ["id", "seed", "size", "drawn", "done", "created_at"]


class NewSampleSerializer(serializers.Serializer):
    """How many queries, and the seed that draws them again."""

    size = serializers.IntegerField(default=verbs.SIZE)
    seed = serializers.IntegerField(default=verbs.SEED)


class TaskSerializer(serializers.Serializer):
    """The next query to score blind; null where none waits."""

    task = serializers.IntegerField(allow_null=True)
    query = serializers.CharField(allow_null=True)
    text = serializers.CharField(allow_null=True)
    to_score = ToScoreSerializer(many=True)


class Samples(Route):
    """Samples of the benchmark, and drawing one."""

    @extend_schema(responses=SampleSerializer(many=True))
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        return self.page(sample_rows(access), SampleSerializer)

    @extend_schema(request=NewSampleSerializer, responses={201: SampleSerializer})
    def post(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.ADMIN)
        given = self.read(NewSampleSerializer)
        drawn = verbs.draw_sample(benchmark=access.benchmark, actor=access.user, **given)
        return Response(SampleSerializer(sample_rows(access).get(pk=drawn.pk)).data, status=201)


class NextTask(Route):
    """The next query that waits for my blind scores."""

    @extend_schema(responses=TaskSerializer)
    def get(self, request: Request, slug: str) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        task = verbs.next_task(access)
        if task is None:
            return Response({"task": None, "query": None, "text": None, "to_score": []})
        aspects = ToScoreSerializer(unscored(task.query, access.user), many=True).data
        return Response(
            {
                "task": task.pk,
                "query": str(task.query),
                "text": task.query.text,
                "to_score": aspects,
            }
        )


class TaskScores(Route):
    """Giving the weights of one task."""

    @extend_schema(request=BlindScoresSerializer, responses={204: None})
    def post(self, request: Request, slug: str, pk: int) -> Response:
        access = enter(self.person(), slug, Role.REVIEWER)
        task = verbs.waiting_tasks(access).filter(pk=pk).first()
        if task is None:
            raise Http404("This query does not wait for you.")
        given = self.read(BlindScoresSerializer)
        verbs.score_task(task=task, actor=access.user, **given)
        return Response(status=204)


urlpatterns = [
    path("b/<slug:slug>/rescoring/", NextTask.as_view(), name="api-rescoring"),
    path("b/<slug:slug>/rescoring/samples/", Samples.as_view(), name="api-rescore-samples"),
    path("b/<slug:slug>/rescoring/<int:pk>/", TaskScores.as_view(), name="api-rescoring-scores"),
]
