"""One card a judge: how far what a model labels, grades or scores may be believed."""
