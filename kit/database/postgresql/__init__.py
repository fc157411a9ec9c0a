"""Django's PostgreSQL backend, for many small requests a second."""
