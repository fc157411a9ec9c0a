"""The rules of search agents and their judge, pure: no Django, no network, no clock, no chance."""
