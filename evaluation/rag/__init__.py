"""Answers written from what systems retrieve, their grades, and how far both go together."""
