"""Readers of the file formats that people arrive with. Pure: files in, rows and problems out."""
