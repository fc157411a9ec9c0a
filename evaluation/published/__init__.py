"""Figures as others printed them, one file a table: facts, with where they stand.

`metric` names the measure of ours that a table can be held against, `view` the gold it was
measured on; both are null where there is none. Units: percent, share, number.
"""
