"""A benchmark taken along to another installation, and merged with what was done there."""
