"""A child process with its own program on the store of the settings, for tests that kill it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kafka_pareto.settings import Settings

ROOT = Path(__file__).parent.parent.parent


@contextmanager
def child_process(program: str, settings: Settings) -> Iterator[subprocess.Popen[str]]:
    """Runs the Python program; its `load_settings()` gives the same store. It is gone when the context ends."""
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "include")}
    if settings.store_folder is not None:
        environment["KAFKA_PARETO_STORE_FOLDER"] = str(settings.store_folder)
    else:
        environment["KAFKA_PARETO_S3_ENDPOINT"] = settings.s3_endpoint
        environment["KAFKA_PARETO_S3_ACCESS_KEY"] = settings.s3_access_key
        environment["KAFKA_PARETO_S3_SECRET_KEY"] = settings.s3_secret_key.get_secret_value()
        environment["KAFKA_PARETO_S3_BUCKET"] = settings.s3_bucket
    argv = [sys.executable, "-c", program]
    child = subprocess.Popen(argv, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        yield child
    finally:
        child.kill()
        child.communicate()
