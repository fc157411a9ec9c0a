"""Deriving a release's labels again from what stands in its own folder. Pure: no database."""
