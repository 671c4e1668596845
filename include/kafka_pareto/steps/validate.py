"""Step `validate`, the gate between measuring and learning: bad rows are set aside, too many stop the campaign."""

from __future__ import annotations

import logging
import tempfile
from collections import Counter
from pathlib import Path

from kafka_pareto.artifacts import DESIGN_COLUMNS, REJECTED_COLUMNS, TRIAL_COLUMNS
from kafka_pareto.campaign import Campaign
from kafka_pareto.errors import GateError
from kafka_pareto.expectations import Examination
from kafka_pareto.records import Manifest
from kafka_pareto.trials import summarise_trials
from kafka_pareto.validation import Verdict, examine, rejected_table

log = logging.getLogger(__name__)


def run(campaign: Campaign) -> Manifest:
    """Checks every repetition of the design and summarises the accepted ones into trials.

    The rejected rows, the summary and the Data Docs are written whatever the verdict; the trials only when the gate
    lets the campaign pass.

    Raises:
        GateError: If repetitions are missing, their table has another schema, more were set aside or failed than the
            study tolerates, or the baseline has no valid repetition at some record size.
        ArtifactError: If the design is missing, or a repetition cannot be read.
    """
    study, keys = campaign.study, campaign.keys
    design = campaign.read_table(keys.design(), DESIGN_COLUMNS)
    prefixes = [keys.measurements(size) for size in study.record_sizes_bytes]
    repetitions = [repetition for prefix in prefixes for repetition in campaign.read_repetitions(prefix)]
    with tempfile.TemporaryDirectory(prefix="kafka-pareto-docs-") as folder:
        examination = Examination(Path(folder), keys.campaign)
        verdict = examine(repetitions, design, study, examination)
        examination.build_data_docs()
        docs = _store_docs(campaign, Path(folder))
    _log_verdict(verdict)
    rejected_key = campaign.write_table(
        keys.validation("rejected.parquet"), rejected_table(repetitions, verdict.rejected, study), REJECTED_COLUMNS
    )
    summary_key = campaign.write_record(keys.validation("summary.json"), verdict.summary)
    if verdict.problems:
        campaign.store.delete(keys.trials())  # those of an earlier pass must not be learned from
        problems = "\n".join(verdict.problems)
        raise GateError(
            f"the validation gate stops campaign {keys.prefix}: {problems}\n"
            f"nothing measured is lost; see {docs} and {rejected_key} in the store"
        )
    trials = summarise_trials(verdict.accepted, study)
    trials_key = campaign.write_table(keys.trials(), trials, TRIAL_COLUMNS)
    counts: dict[str, int | float] = {
        "repetitions": len(repetitions),
        "accepted": verdict.summary.repetitions_accepted,
        "rejected": verdict.summary.repetitions_rejected,
        "failed": verdict.summary.repetitions_failed,
        "lost_records": verdict.summary.repetitions_lost_records,
        "warnings": sum(not finding.success for finding in verdict.findings if finding.severity == "warning"),
        "trials": len(trials),
    }
    return campaign.manifest("validate", [trials_key, rejected_key, summary_key, docs], counts)


def _store_docs(campaign: Campaign, folder: Path) -> str:
    """Stores the site and returns its first page's key; pages of an earlier run are taken away.

    Great Expectations adds 7 MB of fonts and animations that no page refers to: these stay behind.
    """
    pages = sorted(folder.rglob("*.html"))
    text = "".join(page.read_text("utf-8") for page in pages)
    referred = [path for path in folder.rglob("*") if path.is_file() and path not in pages and path.name in text]
    keys = {campaign.keys.validation(f"data_docs/{path.relative_to(folder).as_posix()}"): path for path in pages}
    keys |= {campaign.keys.validation(f"data_docs/{path.relative_to(folder).as_posix()}"): path for path in referred}
    for key, path in keys.items():
        campaign.store.put(key, path.read_bytes())
    for key in campaign.store.keys(campaign.keys.validation("data_docs/")):
        if key not in keys:
            campaign.store.delete(key)
    return campaign.keys.validation("data_docs/index.html")


def _log_verdict(verdict: Verdict) -> None:
    summary = verdict.summary
    log.info(
        "%d repetitions checked (%d planned): %d accepted, %d rejected; %d failed, %d lost or duplicated records",
        summary.repetitions_stored,
        summary.repetitions_planned,
        summary.repetitions_accepted,
        summary.repetitions_rejected,
        summary.repetitions_failed,
        summary.repetitions_lost_records,
    )
    for reason, count in Counter(verdict.rejected.values()).most_common():
        log.info("  %5d rejected: %s", count, reason)
    for finding in verdict.findings:
        if not finding.success and finding.severity == "warning":
            log.info("  %5d to be looked at: %s", len(finding.rows), finding.reason)
