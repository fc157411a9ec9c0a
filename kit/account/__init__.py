"""How people and scripts get in: links, passwords with their limits, sessions, API tokens."""

from django.dispatch import Signal

# Sent with `user` and `groups` (names) when somebody came through the identity provider.
came_through_provider = Signal()
# Sent with `user` and `actor` in the transaction that erases an account.
erasing = Signal()
