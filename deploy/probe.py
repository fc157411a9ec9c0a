"""The health check of the web container: whether /-/live answers, under the site's own name."""

import os
import urllib.request

host = os.environ.get("ALLOWED_HOSTS", "127.0.0.1").split(",")[0].strip().lstrip(".")
port = os.environ.get("PORT", "8000")
asked = urllib.request.Request(f"http://127.0.0.1:{port}/-/live", headers={"Host": host})
urllib.request.urlopen(asked, timeout=4)  # noqa: S310 (our own address)
