"""Writing a release: pure functions from frozen records to files. No Django, network or clock."""
