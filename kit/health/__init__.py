"""Whether Assay works: for probes, for scrapers, and on a page for staff."""
