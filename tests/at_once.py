"""Two people at the same moment, on any database."""

import threading
from collections.abc import Callable
from typing import Any

from django.db import connection, transaction


def at_once(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    """Do `first`, begin `second` before it is committed; what `second` gave, or raised.

    Needs a test with real transactions.
    """
    begun, answers = threading.Event(), []

    def later() -> None:
        try:
            assert begun.wait(240), "the first has not begun"
            answers.append(second())
        except Exception as error:
            answers.append(error)
        finally:
            connection.close()

    other = threading.Thread(target=later)
    other.start()
    with transaction.atomic():
        first()
        begun.set()
        other.join(0.2)  # it waits for us, or has decided by what it cannot know yet
    other.join(240)
    assert answers, f"the second has not ended: {other}"
    (answer,) = answers
    return answer
