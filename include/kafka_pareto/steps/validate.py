"""Step `validate`: the gate between measuring and learning. Bad rows are rejected; too many stop the campaign."""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from pathlib import Path

from kafka_pareto.analysis.trials import summarise_trials
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest
from kafka_pareto.campaign.records import ValidationSummary
from kafka_pareto.campaign.tables import DESIGN_COLUMNS, TRIAL_COLUMNS, rejected_columns
from kafka_pareto.errors import GateError
from kafka_pareto.study.tune import Tune
from kafka_pareto.validation.expectations import Examination
from kafka_pareto.validation.gate import Earlier, Verdict, examine, rejected_table

log = logging.getLogger(__name__)


def run(campaign: Campaign, round_number: int = 0) -> Manifest:
    """Check every repetition of the round; for a tuning study, summarize accepted ones into trials.

    Rejected rows, summary and Data Docs are always written; trials only if the gate passes. The baseline's repetitions
    of all rounds form one trial.

    Raises:
        GateError: If repetitions are missing, their table has another schema, more were rejected or failed than the
            study tolerates, or the baseline has no valid repetition for some case.
        ArtifactError: If the design or an earlier round's validation is missing, or a repetition cannot be read.
    """
    study, keys = campaign.study, campaign.keys
    design = campaign.read_table(keys.design(round_number), DESIGN_COLUMNS)
    earlier = _earlier(campaign, round_number)
    repetitions = campaign.read_measurements(study.cases, [round_number])
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-docs-") as folder:
        examination = Examination(Path(folder), keys.campaign)
        verdict = examine(repetitions, design, study, examination, earlier)
        examination.build_data_docs()
        docs = _store_docs(campaign, Path(folder), round_number)
    _log_verdict(verdict)
    rejected_key = campaign.write_table(
        keys.validation("rejected.parquet", round_number),
        rejected_table(repetitions, verdict.rejected, study),
        rejected_columns(study.declaration),
    )
    summary_key = campaign.write_record(keys.validation("summary.json", round_number), verdict.summary)
    if verdict.problems:
        campaign.store.delete(keys.trials(round_number))  # from an earlier pass; must not be used for training
        problems = "\n".join(verdict.problems)
        raise GateError(
            f"the validation gate stops campaign {keys.prefix}: {problems}\n"
            f"all measurements are kept; see {docs} and {rejected_key} in the store"
        )
    counts: dict[str, int | float] = {
        "repetitions": len(repetitions),
        "accepted": verdict.summary.repetitions_accepted,
        "rejected": verdict.summary.repetitions_rejected,
        "failed": verdict.summary.repetitions_failed,
        "lost_records": verdict.summary.repetitions_lost_records,
        "warnings": sum(not finding.success for finding in verdict.findings if finding.severity == "warning"),
    }
    written = [rejected_key, summary_key, docs]
    if isinstance(study, Tune):
        trials = summarise_trials([*earlier.accepted, *verdict.accepted], study)
        written.insert(0, campaign.write_table(keys.trials(round_number), trials, TRIAL_COLUMNS))
        counts["trials"] = len(trials)
    return campaign.manifest("validate", written, counts)


def _earlier(campaign: Campaign, round_number: int) -> Earlier:
    """Return the measurements and accepted trials of earlier rounds."""
    study, keys = campaign.study, campaign.keys
    rounds = range(round_number)
    rejected = {
        repetition_id
        for number in rounds
        for repetition_id in campaign.read_table(
            keys.validation("rejected.parquet", number), rejected_columns(study.declaration)
        ).repetition_id
    }
    measured = campaign.read_measurements(study.cases, rounds)
    return Earlier(
        [campaign.read_record(keys.validation("summary.json", number), ValidationSummary) for number in rounds],
        [repetition for repetition in measured if repetition.repetition_id not in rejected],
    )


def _store_docs(campaign: Campaign, folder: Path, round_number: int) -> str:
    """Store the site and return its first page's key; pages of an earlier run are deleted.

    Great Expectations adds 7 MB of fonts and animations that no page uses; these are excluded.
    """
    pages = sorted(folder.rglob("*.html"))
    text = "".join(page.read_text("utf-8") for page in pages)
    referred = [path for path in folder.rglob("*") if path.is_file() and path not in pages and path.name in text]
    site = campaign.keys.validation("data_docs/", round_number)
    kept = {f"{site}{path.relative_to(folder).as_posix()}": path for path in [*pages, *referred]}
    for key, path in kept.items():
        campaign.store.put(key, path.read_bytes())
    for key in campaign.store.keys(site):
        if key not in kept:
            campaign.store.delete(key)
    return f"{site}index.html"


def _log_verdict(verdict: Verdict) -> None:
    summary = verdict.summary
    log.info(
        "%d repetitions checked (%d planned): %d accepted, %d rejected; %d failed, %d with lost or duplicated records",
        summary.repetitions_stored,
        summary.repetitions_planned,
        summary.repetitions_accepted,
        summary.repetitions_rejected,
        summary.repetitions_failed,
        summary.repetitions_lost_records,
    )
    implausible = [each for each in verdict.accepted if each.broken_rules]
    if implausible:
        stored = verdict.summary.repetitions_stored
        log.info("%d of %d repetitions failed at measurement because of implausible values", len(implausible), stored)
    for reason, count in Counter(each.reason for each in implausible).most_common():
        log.info("  %5d failed: %s", count, reason)
    for reason, count in Counter(verdict.rejected.values()).most_common():
        log.info("  %5d rejected: %s", count, reason)
    for finding in verdict.findings:
        if not finding.success and finding.severity == "warning":
            log.info("  %5d to be reviewed: %s", len(finding.rows), finding.reason)
