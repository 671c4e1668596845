"""Put Kafka's jars and this project's into the wheel: an installation then needs only Java."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KafkaJars(BuildHookInterface):  # type: ignore[misc]
    """Build the jars like `make setup`, unless they exist."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002
        """Add the jars to the wheel."""
        subprocess.run(["make", "-s", ".state/stamps/kafka"], cwd=self.root, check=True)
        kafka = Path(self.root) / ".state" / "kafka"
        for folder in ("jars", "agent"):
            for jar in sorted((kafka / folder).glob("*.jar")):
                build_data["force_include"][str(jar)] = f"kafka_pareto/shipped_files/{folder}/{jar.name}"
