"""Chains: from noisy pages to a release, each step a run of its kind; docs/chain.md."""
