"""Step `report` of a comparison: tables as text and CSV, sentences, figures, one HTML page, MLflow runs."""

from __future__ import annotations

import logging

from kafka_pareto.bottleneck.ceilings import Ceilings
from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.manifest import Manifest, Notice
from kafka_pareto.campaign.records import Fingerprint, Plan
from kafka_pareto.campaign.sent_text import delete_unless_kept
from kafka_pareto.comparison.figures import part_figures
from kafka_pareto.comparison.page import PageContext, comparison_page
from kafka_pareto.comparison.records import PartComparison
from kafka_pareto.comparison.remarks import Remarks
from kafka_pareto.comparison.sentences import closing_sentences
from kafka_pareto.comparison.tables import comparison_text, part_csv, remarks_text
from kafka_pareto.doctor.reference_symptoms import symptom_texts
from kafka_pareto.steps.compare import accepted_repetitions
from kafka_pareto.study.compare import Compare, compare_study
from kafka_pareto.tracking import comparison_runs

logger = logging.getLogger(__name__)


def run(campaign: Campaign) -> Manifest:
    """Write the report, log it to MLflow, and log the tables and sentences last.

    Raises:
        ArtifactError: If an earlier step's artifact is missing, damaged or of another schema version.
        TrackingError: If MLflow is configured and cannot be reached; the report is already stored.
    """
    study, keys = compare_study(campaign.study), campaign.keys
    parts = [campaign.read_record(keys.comparison(case), PartComparison) for case in study.cases]
    driver = study.declaration
    sentences = closing_sentences(parts)
    symptoms = symptom_texts(study, [each for case in study.cases for each in accepted_repetitions(campaign, case)])
    remarks = Remarks(parts, symptoms, campaign.find_record(keys.ceilings(), Ceilings))
    # The page and the CSV files have everything else.
    text = "\n".join([comparison_text(parts), remarks_text(remarks), *sentences]) + "\n"
    figures = {part.part: part_figures(part, driver.stage_quantities, driver.over_time) for part in parts}
    page = comparison_page(
        PageContext(
            study=study.name,
            campaign=keys.campaign,
            description=study.description,
            sentences=sentences,
            parts=parts,
            figures=figures,
            measured=_how_measured(study, campaign.read_record(keys.plan(), Plan)),
            facts=campaign.read_record(keys.fingerprint(study.cases[0]), Fingerprint).facts(),
            published_on=study.published_by,
            remarks=remarks,
        )
    ).encode()
    contents = {
        "tables.txt": text.encode(),
        **{f"tables/{part.part}.csv": part_csv(part).encode() for part in parts},
        **{f"figures/{name}": picture for drawn in figures.values() for name, (_, picture) in drawn.items()},
        "report.html": page,
    }
    written = [campaign.write(keys.report(name), content) for name, content in contents.items()]
    delete_unless_kept(campaign)
    try:
        comparison_runs.log_comparison(campaign, parts, page)
    finally:
        logger.info("%s", text)  # even if MLflow is down
    counts = {"parts": len(parts), "levels": sum(len(part.levels) for part in parts)}
    notice = Notice(
        kind="finished",
        subject=f"{study.name}: comparison done",
        text="\n".join([f"Campaign {keys.campaign} has ended.", *sentences]),
    )
    return campaign.manifest("report", written, counts).model_copy(update={"notice": notice})


def _how_measured(study: Compare, plan: Plan) -> dict[str, str]:
    """Return the measurement settings as label and text."""
    own, protocol = study.own_brokers, study.protocol
    cluster = "the stack's cluster"
    if own is not None:
        cluster = f"{own}, started by the study on this machine"
    elif study.cluster is not None:
        cluster = study.cluster.name or "an existing cluster"
    return {
        "blocks": str(protocol.repetitions),
        "repetitions": str(plan.repetitions),
        "cluster": cluster,
        **study.described_protocol(),
    }
