"""A model writes the reference answer of a query: prompt, reading, one request for repair. Pure."""
