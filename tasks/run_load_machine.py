"""Run the step `run_load_machine`: send loads from this machine for a campaign or a check."""

from __future__ import annotations

from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.settings import load_settings
from kafka_pareto.steps import run_load_machine
from tasks.common import CampaignOption, CaseOption, CheckFlag, SessionOption, StudyOption, open_either, run_command


def main(
    study: StudyOption, campaign: CampaignOption, session: SessionOption, case: CaseOption, check: CheckFlag = False
) -> Manifest:
    """Run the load machine of this number, the case, until `stop_load_machines`."""
    return run_load_machine.run(open_either(study, campaign, check=check), case, session, load_settings())


if __name__ == "__main__":
    run_command(main)
