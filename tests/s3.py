"""An S3 storage on this machine, in memory, for as long as a block runs."""

import logging
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

KEYS = {"AWS_ACCESS_KEY_ID": "of-tests", "AWS_SECRET_ACCESS_KEY": "of-tests"}


@contextmanager
def bucket() -> Iterator[tuple[str, Any]]:
    """What ASSAY_STORAGE says of a new bucket, and the bucket; its server knows KEYS alone."""
    import boto3
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        name, at = f"assay-{uuid.uuid4().hex[:8]}", f"http://{host}:{port}"
        client = boto3.resource(
            "s3",
            endpoint_url=at,
            region_name="us-east-1",
            aws_access_key_id=KEYS["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=KEYS["AWS_SECRET_ACCESS_KEY"],
        )
        yield (
            f"s3://{name}/of/us?endpoint_url={at}&region_name=us-east-1",
            client.create_bucket(Bucket=name),
        )
    finally:
        server.stop()
