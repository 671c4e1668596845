"""The helper process that talks to the cluster; a shell script in Java's place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_pareto.errors import ClusterError
from kafka_pareto.kafka.admin_process import ClusterHelper
from kafka_pareto.settings import Settings

pytestmark = pytest.mark.fast


@pytest.mark.parametrize("line", ["Picked up JAVA_TOOL_OPTIONS: -Dx=y", "[]", "{}", '{"id": 2}', "7", "\\377"])
def test_an_invalid_answer_is_an_error_that_quotes_it(tmp_path: Path, line: str) -> None:
    java = tmp_path / "java"
    java.write_text(f"""#!/bin/sh
        read -r question && echo '{{"id": 1, "ok": {{}}}}'
        read -r question && printf '{line}\\n'
        exec sleep 60
    """)
    java.chmod(0o755)
    helper = ClusterHelper("b:9092", None, Settings(java=str(java), kafka_jars=tmp_path))
    try:
        with pytest.raises(
            ClusterError, match=r"b:9092: describe_cluster: the helper .* printed .* instead of a response"
        ):
            helper.ask("describe_cluster", 5.0)
        with pytest.raises(ClusterError, match="the helper process ended"):
            helper.ask("describe_cluster", 5.0)
    finally:
        helper.close()
