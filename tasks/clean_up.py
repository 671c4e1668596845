"""Run the step `clean_up`: delete expired campaigns."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import clean_up
from kafka_pareto.storage.store import open_store
from tasks.common import run_command


def main() -> Manifest:
    """Delete campaigns that have expired under their study's `retention`."""
    settings = load_settings()
    return clean_up.run(open_store(settings), settings.studies)


if __name__ == "__main__":
    run_command(main)
