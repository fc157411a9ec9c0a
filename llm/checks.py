"""Told at the start rather than in the middle of a run: files of settings that cannot be used."""

from typing import Any

from django.core.checks import CheckMessage, Error

from llm import endpoints, prices


def check_files(**_: Any) -> list[CheckMessage]:
    """ASSAY_ENDPOINTS, roles and ASSAY_PRICES, where they are set, can be read and make sense."""
    found: list[CheckMessage] = []
    try:
        endpoints.roles()
    except endpoints.EndpointError as error:
        found.append(Error(f"Endpoints: {error}", id="llm.E001"))
    try:
        prices.table()
    except prices.PriceError as error:
        found.append(Error(f"ASSAY_PRICES: {error}", id="llm.E002"))
    return found
