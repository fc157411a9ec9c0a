"""Assignments, progress and time on task, as the API shows and takes them."""

from rest_framework import serializers

from annotate.models import Assignment
from annotate.serializers_aspects import MissingSerializer
from annotate.services.work import MOST_AT_ONCE


class AssignmentSerializer(serializers.ModelSerializer):
    """Who holds a query, and how far it is."""

    query_id = serializers.CharField(source="query.qid")
    domain = serializers.CharField(source="query.domain.name")
    holder = serializers.CharField(source="holder.username")

    class Meta:
        model = Assignment
        fields = [
            "id",
            "query",
            "query_id",
            "domain",
            "holder",
            "state",
            "due_on",
            "created_at",
            "started_at",
            "submitted_at",
        ]


class WorkSerializer(serializers.Serializer):
    """Who holds the query (null: nobody), and what is missing."""

    assignment = AssignmentSerializer(allow_null=True)
    missing = MissingSerializer(many=True)


class WorkVerbSerializer(serializers.Serializer):
    """What to do with the query."""

    verb = serializers.ChoiceField(["claim", "release", "submit", "take_back"])


class AssignQueriesSerializer(serializers.Serializer):
    """Queries by their keys, people by their names, and the day by which they are due."""

    queries = serializers.ListField(
        child=serializers.IntegerField(), allow_empty=False, max_length=MOST_AT_ONCE
    )
    people = serializers.ListField(child=serializers.CharField(), allow_empty=False)
    due_on = serializers.DateField(required=False, allow_null=True, default=None)


class PassOnSerializer(serializers.Serializer):
    """Who holds the query from now on, and until when; null: no day."""

    holder = serializers.CharField()
    due_on = serializers.DateField(allow_null=True)


class StretchSerializer(serializers.Serializer):
    """A stretch of work."""

    start = serializers.DateTimeField()
    end = serializers.DateTimeField()


class TimeSerializer(serializers.Serializer):
    """Seconds at work."""

    seconds = serializers.FloatField()


class LineSerializer(serializers.Serializer):
    """The states of one domain's or person's queries."""

    name = serializers.CharField()
    queries = serializers.IntegerField()
    states = serializers.DictField(child=serializers.IntegerField())
    overdue = serializers.IntegerField()
    seconds = serializers.FloatField()


class DaySerializer(serializers.Serializer):
    """Queries submitted for the first time on a day."""

    day = serializers.DateField()
    submitted = serializers.IntegerField()


class ProgressSerializer(serializers.Serializer):
    """Progress with its forecast; the dates are null while nothing can be said."""

    domains = LineSerializer(many=True)
    people = LineSerializer(many=True)
    days = DaySerializer(many=True)
    remaining = serializers.IntegerField()
    per_day = serializers.FloatField()
    end = serializers.DateField(allow_null=True)
    end_low = serializers.DateField(allow_null=True)
    end_high = serializers.DateField(allow_null=True)
    confidence = serializers.FloatField()
