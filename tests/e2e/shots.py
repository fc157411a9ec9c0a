"""Pictures of every page by role and look, in a folder that a person leafs through (`make e2e`)."""

import os
import re
from pathlib import Path

from playwright.sync_api import Page

from tests.e2e.conftest import LOOKS, turn_to

# The folder; "" for no pictures.
SHOTS = os.environ.get("SHOTS", "")
# In a picture of a whole page nothing stays at the window's edges.
WHOLE_PAGE = ".deck, .asked, .stays, .cover, .strip-of-aspects { position: static !important; }"
INDEX = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Pages of Assay by role</title>
<style>
body {{ font: 1rem sans-serif; margin: 1rem }}
a {{ display: inline-block; margin: 0 .5rem .5rem 0 }}
img {{ display: block; width: 16rem; height: 12rem; object-fit: cover; object-position: top }}
</style>
<h1>Pages of Assay by role</h1>
{}"""


def take_pictures(page: Page, path: str, role: str) -> None:
    """The whole page in every window and all colours."""
    name = re.sub("[^a-z0-9]+", "-", path).strip("-") or "home"
    for look in LOOKS:
        turn_to(page, look)
        shot = Path(SHOTS, role, look, f"{name}.jpeg")
        page.screenshot(path=shot, quality=70, full_page=True, style=WHOLE_PAGE)
    turn_to(page, "light")


def list_pictures() -> None:
    """Write index.html: every picture so far, by role and page."""
    parts = []
    for role in sorted(each for each in Path(SHOTS).iterdir() if each.is_dir()):
        parts.append(f"<h2>{role.name}</h2>")
        for name in sorted({shot.name for shot in role.glob("*/*.jpeg")}):
            there = [
                f"{role.name}/{look}/{name}" for look in LOOKS if (role / look / name).exists()
            ]
            links = (
                f'<a href="{each}"><img src="{each}" loading="lazy" alt="">{each.split("/")[1]}</a>'
                for each in there
            )
            parts += [f"<h3>{name.removesuffix('.jpeg')}</h3>", *links]
    index = Path(SHOTS, f"{os.getpid()}.part")  # the other process lists them, too
    index.write_text(INDEX.format("\n".join(parts)), encoding="utf-8")
    index.replace(Path(SHOTS, "index.html"))
