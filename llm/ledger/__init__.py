"""The ledger: a row for every attempt that may cost money, who pays for it, and what it came to."""
