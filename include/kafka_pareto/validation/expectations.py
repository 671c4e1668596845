"""Validate tables with Great Expectations, which takes seconds to load: no other module imports it."""

from __future__ import annotations

import html
import logging
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from kafka_pareto.campaign.suites import OF_EVERY_DRIVER, Expectation, Severity
from kafka_pareto.errors import BadInputError

ROW_ID = "repetition_id"
_INDEX = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Data Docs of {name}</title>
<style>body {{ font-family: sans-serif; margin: 2em }} td {{ padding: 0.2em 1.5em 0.2em 0 }}</style>
<h1>Data Docs</h1><p>Results of the expectations for campaign {name}, by suite.</p>
<table>
{rows}
</table></html>
"""
# By default Data Docs load scripts, styles, icons and a logo from seven public servers: offline, and in the explorer,
# which blocks foreign content, the column that names failures would be empty. The icon is broken on
# pages of validations.
_FOREIGN = re.compile(
    r"<script\b.*?</script>|<footer\b.*?</footer>|<(?:link|img)\b[^>]*?\b(?:href|src)=\"(?:https?:|[^\">]*favicon)[^>]*>"
    r"|\sonclick=\"[^\"]*\"",
    re.DOTALL,
)
# Elements that need scripts are removed, or open.
_STYLE = """<style>
body { font-family: sans-serif; margin: 2em }
td, th { padding: 0.3em 1em 0.3em 0; text-align: left; vertical-align: top }
table { border-collapse: collapse } tr { border-bottom: 1px solid #d8dde4 }
.ge-breadcrumbs, .nav { list-style: none; padding: 0 } .nav { columns: 14em }
.sticky { position: static } .card.mb-3, [data-toggle=collapse] { display: none }
.badge { background: #e8ecf2; padding: 0 0.3em; border-radius: 0.2em }
.fas { font-style: normal; font-weight: bold }
.fa-check-circle::before { content: "\\2713" } .text-success { color: #1a7f37 }
.fa-times::before { content: "\\2717" } .text-danger { color: #b3261e }
.fa-exclamation-triangle::before { content: "!" } .text-warning { color: #9a6700 }
</style>
</head>"""


@dataclass(frozen=True)
class Finding:
    """The result of one expectation. `rows` are the IDs of the rows that fail, none if the table fails."""

    suite: str
    name: str
    column: str | None
    severity: Severity
    reason: str
    success: bool
    rows: list[str]
    observed: str

    @property
    def is_critical(self) -> bool:
        """Return whether it fails, and is more than a warning."""
        return not self.success and self.severity == "critical"


class Examination:
    """Tables validated by their suites, and the Data Docs of all of them, under `name` in `docs_folder`."""

    def __init__(self, docs_folder: Path, name: str) -> None:
        self._docs_folder = docs_folder
        self._name = name
        self._findings: dict[str, list[Finding]] = {}

    def check(
        self, suite: str, expectations: Sequence[Expectation], table: pd.DataFrame, parameters: Mapping[str, Any]
    ) -> list[Finding]:
        """Validate a table with a column `repetition_id` by a suite.

        Raises:
            BadInputError: If an expectation does not apply to the table, or does not exist.
        """
        gx, context = self._gx, self._context
        configurations = [each for expectation in expectations for each in expectation.configurations(parameters)]
        try:
            expected = context.suites.add(gx.ExpectationSuite(name=suite, expectations=configurations))
        except gx.exceptions.GreatExpectationsError as error:
            raise BadInputError(
                f"suite {suite}, of {OF_EVERY_DRIVER} and the driver's own expectations.yaml: {error}"
            ) from error
        source = context.data_sources.add_pandas(suite)
        batch = source.add_dataframe_asset(suite).add_batch_definition_whole_dataframe(suite)
        definition = context.validation_definitions.add(gx.ValidationDefinition(name=suite, data=batch, suite=expected))
        outcome = definition.run(
            batch_parameters={"dataframe": table},
            result_format={"result_format": "COMPLETE", "unexpected_index_column_names": [ROW_ID]},
            run_id=gx.RunIdentifier(run_name=self._name),
        )
        found = [_finding(suite, result) for result in outcome.results]
        self._findings[suite] = found
        return [*found]

    def build_data_docs(self) -> None:
        """Build the Data Docs of everything checked so far; they open offline from any copy of the folder.

        The index replaces Great Expectations' own, which needs scripts.
        """
        self._context.build_data_docs()
        for page in self._docs_folder.rglob("*.html"):
            offline = _FOREIGN.sub("", page.read_text(encoding="utf-8")).replace("</head>", _STYLE, 1)
            page.write_text(offline, encoding="utf-8")
        rows = []
        for suite, findings in self._findings.items():
            page = next(self._docs_folder.glob(f"validations/{suite}/**/*.html"))
            address = html.escape(page.relative_to(self._docs_folder).as_posix())
            kept = sum(finding.success for finding in findings)
            rows.append(f'<tr><td><a href="{address}">{html.escape(suite)}</a><td>{kept} of {len(findings)} met')
        index = _INDEX.format(name=html.escape(self._name), rows="\n".join(rows))
        (self._docs_folder / "index.html").write_text(index, encoding="utf-8")

    @cached_property
    def _gx(self) -> Any:
        os.environ["GX_ANALYTICS_ENABLED"] = "false"
        logging.getLogger("great_expectations").setLevel(logging.WARNING)  # it logs 200 lines of its own setup
        import great_expectations as gx  # noqa: PLC0415

        return gx

    @cached_property
    def _context(self) -> Any:
        from great_expectations.data_context.types.base import (  # noqa: PLC0415
            DataContextConfig,
            InMemoryStoreBackendDefaults,
            ProgressBarsConfig,
        )

        site = {
            "class_name": "SiteBuilder",
            "show_how_to_buttons": False,
            "site_index_builder": {"class_name": "DefaultSiteIndexBuilder"},
            "store_backend": {"class_name": "TupleFilesystemStoreBackend", "base_directory": str(self._docs_folder)},
        }
        config = DataContextConfig(
            store_backend_defaults=InMemoryStoreBackendDefaults(),
            data_docs_sites={"data_docs": site},
            progress_bars=ProgressBarsConfig(globally=False),
            analytics_enabled=False,
        )
        return self._gx.get_context(mode="ephemeral", project_config=config)


def _finding(suite: str, outcome: Any) -> Finding:
    meta, result = outcome.expectation_config.meta, outcome.result
    if not result and not outcome.success:
        raise BadInputError(
            f"expectations: {suite}: {meta['name']}: does not apply to this table: "
            f"{_first_message(outcome.exception_info)}"
        )
    return Finding(
        suite=suite,
        name=meta["name"],
        column=meta["column"],
        severity=str(outcome.expectation_config.severity.value),  # type: ignore[arg-type]
        reason=meta["reason"],
        success=bool(outcome.success),
        rows=[str(entry[ROW_ID]) for entry in result.get("unexpected_index_list") or []],
        observed=_observed(result),
    )


def _observed(result: Mapping[str, Any]) -> str:
    mismatched = result.get("details", {}).get("mismatched", {})
    if mismatched:
        return "; ".join(f"{kind}: {', '.join(map(str, columns))}" for kind, columns in mismatched.items())
    return "" if result.get("observed_value") is None else str(result["observed_value"])


def _first_message(exception_info: Mapping[str, Any]) -> str:
    if "exception_message" in exception_info:
        return str(exception_info["exception_message"])
    messages = [str(info["exception_message"]) for info in exception_info.values() if isinstance(info, Mapping)]
    return messages[0] if messages else "reason unknown"
