"""Run `mlflow server` in one process instead of two.

`mlflow server` starts uvicorn as a child and waits for it, with 200 MB of imported modules. Here uvicorn replaces it.
The modules cannot be shared: MLflow reads the settings of its security middleware when it is imported.
"""

from __future__ import annotations

import os
import runpy
from typing import NoReturn

import mlflow.server


def _become(argv: list[str], *, extra_env: dict[str, str], **_: object) -> NoReturn:
    os.execve(argv[0], argv, {**os.environ, **extra_env})  # noqa: S606


def main() -> None:
    """Run `mlflow` with the arguments of this process."""
    mlflow.server._exec_cmd = _become  # the only call starts the server
    runpy.run_module("mlflow", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
