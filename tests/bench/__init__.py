"""Measurements, as ratios against an anchor in the same run (`make bench`)."""
