"""A page as text: all of it in blocks, and which of them are its main text. Pure.

What an extractor leaves out is not thrown away: an expert sees it where it stood and may take it.
"""

from corpus.extraction.blocks import Block, Kind, page_blocks
from corpus.extraction.pages import Page, Span, Unreadable, extract_html, extract_pdf, extract_text
