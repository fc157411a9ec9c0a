import pytest
from django.contrib.auth.models import User
from django.db import transaction

from kit import audit
from kit.models import Event


@pytest.mark.django_db(transaction=True)
def test_record_outside_a_transaction_is_refused() -> None:
    user = User.objects.create_user("somebody")
    with pytest.raises(audit.NoTransaction):
        audit.record(actor=user, verb="look", target=user)
    assert Event.objects.count() == 0


@pytest.mark.django_db(transaction=True)
def test_event_disappears_with_the_change_that_failed() -> None:
    user = User.objects.create_user("somebody")
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        audit.record(actor=user, verb="rename", target=user)
        _ = 1 / 0
    assert Event.objects.count() == 0


@pytest.mark.django_db
def test_event_says_who_what_and_to_what() -> None:
    user = User.objects.create_user("somebody")
    event = audit.record(actor=user, verb="rename", target=user, scope="demo", data={"to": "x"})
    assert (event.actor, event.verb, event.target_type) == (user, "rename", "auth.user")
    assert (event.target_id, event.scope, event.data) == (str(user.pk), "demo", {"to": "x"})


@pytest.mark.django_db
def test_events_are_append_only() -> None:
    event = audit.record(actor=None, verb="made", target=User.objects.create_user("somebody"))
    with pytest.raises(TypeError):
        event.save()
    with pytest.raises(TypeError):
        event.delete()
