"""How people and scripts get in: links, passwords with their limits, sessions, API tokens."""
