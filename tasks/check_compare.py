"""Run the step `check_compare`: decides what has drifted, and what is tuned again."""

from __future__ import annotations

from kafka_pareto.steps import check_compare
from tasks.common import CheckOption, ManifestOption, StudyOption, open_check, run_command, run_step


def main(study: StudyOption, campaign: CheckOption, manifest: ManifestOption = None) -> None:
    """Compare what a check has measured with what it is to be compared with."""
    run_step(lambda: check_compare.run(open_check(study, campaign)), manifest)


if __name__ == "__main__":
    run_command(main)
