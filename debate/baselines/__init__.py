"""DREAM's baselines (docs/protocol.md 2.2, 2.8, 2.9), pure like debate.dream.

Each rule over one pair is a generator of `debate.dream.asking.Steps`: it yields questions, is
sent the answers and returns a Verdict. LARA needs all pairs at once: `relevance` measures each,
`lara` then picks among them.
"""
