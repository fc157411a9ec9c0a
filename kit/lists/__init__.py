"""Lists and tables: on screen, in the API, as CSV."""
