"""Figures as others printed them, one file a table: facts, with their source.

`metric` names the measure of ours that a table can be compared with, `view` the gold it was
measured on; both are null where there is none. Units: percent, share, number.
"""
