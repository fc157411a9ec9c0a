"""Static files as they are served: hashed, compressed, and those of every page as two files."""

from collections.abc import Iterator
from typing import Any

from django.conf import settings
from django.core.files.base import ContentFile
from whitenoise.storage import CompressedManifestStaticFilesStorage


class BundledFiles(CompressedManifestStaticFilesStorage):
    """Joins the parts of each of `STATIC_BUNDLES`, which the template tag `bundle` links."""

    def post_process(
        self, paths: dict[str, Any], dry_run: bool = False, **options: Any
    ) -> Iterator[Any]:
        """As Django's, with the bundles among the files to be hashed."""
        for name, parts in settings.STATIC_BUNDLES.items() if not dry_run else ():
            joined = b"\n".join(self.open(part).read() for part in parts)
            self.delete(name)
            self._save(name, ContentFile(joined))
            paths[name] = (self, name)
        yield from super().post_process(paths, dry_run, **options)
