"""What migrations need beyond Django: many models in one operation, ids that the database draws."""

from collections.abc import Sequence
from typing import Any

from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.operations import CreateModel
from django.db.migrations.operations.base import Operation
from django.db.migrations.state import ProjectState
from django.db.models import Func, UUIDField


class RandomUUID(Func):
    """An id drawn by the database, for rows that a version without the column inserts."""

    function = "gen_random_uuid"
    output_field = UUIDField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="(lower(hex(randomblob(16))))", **context)


class CreateModels(Operation):
    """The same as one CreateModel after the other, in a tenth of the time.

    After each operation Django builds every related model class anew; as nearly all models here
    are related, sixty of them would be built sixty times. Models may refer to later ones.
    """

    def __init__(self, models: Sequence[CreateModel]) -> None:
        self.models = models

    def state_forwards(self, app_label: str, state: ProjectState) -> None:
        state.__dict__.pop("apps", None)  # built again when asked for, once all models are in
        for model in self.models:
            model.state_forwards(app_label, state)

    def database_forwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for model in self.models:
            model.database_forwards(app_label, schema_editor, from_state, to_state)

    def database_backwards(
        self,
        app_label: str,
        schema_editor: BaseDatabaseSchemaEditor,
        from_state: ProjectState,
        to_state: ProjectState,
    ) -> None:
        for model in reversed(self.models):
            model.database_backwards(app_label, schema_editor, from_state, to_state)

    def deconstruct(self) -> tuple[str, Sequence[Any], dict[str, Any]]:
        return type(self).__name__, [], {"models": self.models}

    def describe(self) -> str:
        return f"Create {len(self.models)} models"
