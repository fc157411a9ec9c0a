"""Agreement and accuracy with intervals. Pure: arrays in, small frozen results out.

No Django, no clock, no chance that is not an argument. A coefficient that is undefined has the
value None and says why; docs/agreement.md explains the choices and shows how well they hold.
"""
