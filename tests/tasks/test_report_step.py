from __future__ import annotations

import dataclasses
import html
import io
import json
import re
import shutil
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from kafka_pareto.campaign.campaign import Campaign
from kafka_pareto.campaign.plausibility import PlausibilityRules
from kafka_pareto.campaign.tables import SCORE_COLUMNS, rejected_columns
from kafka_pareto.drivers.producer.declaration import DRIVER as PRODUCER
from kafka_pareto.report.cards import Cards, unresolved_of
from kafka_pareto.report.evidence import Evidence, estimates_table
from kafka_pareto.report.figures import interval_coverage
from kafka_pareto.report.page import render_page
from kafka_pareto.report.published_tables import best_and_worst_table, best_per_objective_table
from kafka_pareto.steps import report
from kafka_pareto.storage.folder_store import FolderStore
from kafka_pareto.storage.record import decode_record
from kafka_pareto.study.cases import case_label
from kafka_pareto.study.overrides import Override
from kafka_pareto.validation.gate import rejected_table
from tests.tasks.report_campaign import CAMPAIGN, read, small_study, write_confirmed_campaign, write_troubles

pytestmark = [pytest.mark.fast, pytest.mark.slow]

HOSTILE = '<script>alert("x")</script><img src="https://example.org/x.png"> & {{ 7 * 7 }}'


@pytest.fixture(scope="module")
def confirmed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with a confirmed campaign, to be copied."""
    folder = tmp_path_factory.mktemp("confirmed")
    write_confirmed_campaign(folder, small_study())
    return folder


@pytest.fixture(scope="module")
def evidence(confirmed: Path) -> Evidence:
    """The artifacts of it that the report reads."""
    return report._read(Campaign.open(FolderStore(confirmed), "paper", CAMPAIGN))


@pytest.fixture
def unreported(confirmed: Path, tmp_path: Path) -> Campaign:
    """A confirmed campaign of the test's own, without a report."""
    shutil.copytree(confirmed, tmp_path, dirs_exist_ok=True)
    return Campaign.open(FolderStore(tmp_path), "paper", CAMPAIGN)


@pytest.fixture(scope="module")
def campaign(tmp_path_factory: pytest.TempPathFactory) -> Campaign:
    """A reported campaign in which not all went well, with hostile words in it; only read by tests."""
    found = write_confirmed_campaign(tmp_path_factory.mktemp("store"), small_study(description=HOSTILE))
    write_troubles(found, "1024", f"broker 2 was away {HOSTILE}")
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("KAFKA_PARETO_MLFLOW_TRACKING_URI", raising=False)
        report.run(found)
    return found


@pytest.fixture(scope="module")
def page(campaign: Campaign) -> str:
    return read(campaign, "report.html")


@pytest.fixture(scope="module")
def cards(campaign: Campaign) -> Cards:
    return decode_record(read(campaign, "cards.json").encode(), "cards.json", Cards)


def test_every_artifact_of_the_report_is_there(campaign: Campaign):
    names = {key.removeprefix(campaign.keys.report("")) for key in campaign.store.keys(campaign.keys.report(""))}
    assert names == {
        "cards.txt",
        "cards.json",
        "junit.xml",
        "outcome.json",
        "report.html",
        "1024/producer.properties",
        "65636/producer.properties",
        "tables/table1_best_and_worst.csv",
        "tables/table2_best_per_objective.csv",
        "tables/r2_per_objective.csv",
        "tables/estimated_vs_measured.csv",
        "figures/fig3_r2_per_objective.png",
        "figures/fig4_estimated_vs_measured.png",
        "figures/fig5_mean_and_its_cv.png",
        "figures/fig6_two_objectives.png",
        "figures/fig7_baseline_and_pick_by_repetition.png",
        "figures/fig8_where_the_latency_goes.png",
        "figures/fig9_baseline_over_the_campaign.png",
    }


def test_the_page_loads_nothing_from_elsewhere_and_runs_no_script(page: str):
    tags: list[tuple[str, dict[str, str | None]]] = []

    class Collector(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            tags.append((tag, dict(attrs)))

    Collector().feed(page)
    assert {tag for tag, _ in tags}.isdisjoint({"script", "link", "iframe", "object", "base"})
    addresses = [attrs.get(name) or "" for _, attrs in tags for name in ("src", "href") if name in attrs]
    figures = [address for address in addresses if address.startswith("data:image/png;base64,")]
    assert len(figures) == 7
    within_the_page = [f"#{identity}" for _, attrs in tags if (identity := attrs.get("id"))]
    assert set(addresses) - set(figures) <= set(within_the_page)
    assert "url(" not in page
    assert "@import" not in page


def test_hostile_text_of_a_study_is_shown_and_not_run(page: str):
    assert "<script" not in page
    assert "https://example.org/x.png&#34;&gt;" in page
    assert page.count("&lt;script&gt;alert(") == 3  # the description, and the reasons of two repetitions
    assert "{{ 7 * 7 }}" in page


def test_rows_of_a_card_have_headings_and_stored_warnings_are_no_alerts(page: str):
    assert '<th scope="row">p95 latency</th>' in page
    assert "alert" not in re.findall(r'role="(\w+)"', page)


def test_why_a_point_was_confirmed_is_reported_in_words(page: str):
    assert ">best p95 latency</td>" in page
    assert ">best throughput; best throughput over its CV</td>" in page


def test_the_page_answers_to_dark_mode_and_print(page: str):
    assert "prefers-color-scheme: dark" in page
    assert "@media print" in page


def test_every_number_on_a_card_traces_to_repetitions_in_the_store(campaign: Campaign, page: str, cards: Cards):
    keys = [key for case in campaign.study.cases for key in campaign.store.keys(campaign.keys.confirmation(case))]
    stored = {key.rsplit("/", 1)[1].removesuffix(".json") for key in keys}
    named = set(re.findall(r"(?:choice|gain)-r00-\d+-b\d{3}-c[0-9a-f]{10}", page))
    assert named
    assert named <= stored
    for card in cards.cards:
        for gain in card.gains:
            assert {*gain.reference_repetition_ids, *gain.candidate_repetition_ids} <= named


def test_the_blocks_needed_agree_in_page_and_cards(campaign: Campaign, page: str, cards: Cards):
    sentences = [sentence for card in cards.cards for sentence in unresolved_of(card)]
    assert any("about" in sentence for sentence in sentences)
    for text in (page, " ".join(read(campaign, "cards.txt").split())):
        assert all(sentence in text for sentence in sentences)


def test_gains_follow_from_the_repetitions_they_name(campaign: Campaign, cards: Cards):
    checked = 0
    for card in cards.cards:
        prefix = campaign.keys.confirmation(card.case, "repetitions/")
        by_id = {r.repetition_id: r for r in campaign.read_repetitions(prefix)}
        for gain in card.gains:
            if gain.objective == "throughput_mib_s":
                values = pd.Series([by_id[name].number("throughput_mib_s") for name in gain.candidate_repetition_ids])
                assert np.exp(np.log(values).mean()) == pytest.approx(gain.candidate_value)
                assert {by_id[name].phase for name in gain.candidate_repetition_ids} == {"gain"}
                checked += 1
    assert checked == 2


def test_the_intervals_of_both_record_sizes_share_five_percent_and_every_verdict_is_read_off_one(cards: Cards):
    gains = [gain for card in cards.cards for gain in card.gains]
    assert len(gains) == 8
    assert sum(1 - gain.confidence for gain in gains) == pytest.approx(0.05)
    for gain in gains:
        low, high = gain.change_low_fraction, gain.change_high_fraction
        excludes_no_change = low is not None and high is not None and (low > 0 or high < 0)
        assert (gain.resolution in ("better", "worse")) == excludes_no_change


def test_the_tables_hold_every_score_and_every_confirmed_point(campaign: Campaign):
    scores = pd.read_csv(io.StringIO(read(campaign, "tables/r2_per_objective.csv")))
    assert scores.groupby("objective").size().to_dict() == dict.fromkeys(campaign.study.objectives, 3)
    points = pd.read_csv(io.StringIO(read(campaign, "tables/estimated_vs_measured.csv")))
    assert points.case.value_counts().to_dict() == {1024: 6, 65636: 6}
    assert points.measured_throughput_mib_s.notna().all()
    assert (points.repetition_ids.str.split().map(len) == points.repetitions_valid).all()
    estimated = points.dropna(subset=["estimated_p95_latency_ms"])
    assert len(estimated) >= 2
    widths = estimated.estimated_p95_latency_ms_high / estimated.estimated_p95_latency_ms_low
    assert widths.tolist() == pytest.approx([1.25 / 0.8] * len(estimated))


def test_the_page_shows_r2_with_interval_coverage_and_nothing_without_intervals(page: str):
    means = [row for row in page.split("<tr>") if row.startswith("<td>p95 latency</td>") and "0.95" in row]
    cvs = [row for row in page.split("<tr>") if row.startswith("<td>latency CV</td>") and "0.95" in row]
    assert [row.count("<td>92 %</td>") for row in means] == [1, 1, 1]
    assert [row.count("<td>92 %</td>") for row in cvs] == [0, 0, 0]


def test_figure_4_counts_the_measured_values_that_lie_in_their_estimates_interval(evidence: Evidence):
    points = estimates_table(evidence)
    inside = interval_coverage(points, "throughput_mib_s")
    low, high = (points[f"estimated_throughput_mib_s_{end}"] for end in ("low", "high"))
    expected = int(((points.measured_throughput_mib_s >= low) & (points.measured_throughput_mib_s <= high)).sum())
    assert inside == f": {expected} of {int(low.notna().sum())} in their 90 % interval"
    assert interval_coverage(points, "throughput_cv") == ""


def table(campaign: Campaign, name: str) -> pd.DataFrame:
    return pd.read_csv(io.StringIO(read(campaign, f"tables/{name}")))


def test_table_1_has_the_best_and_the_worst_trial_of_the_design_per_record_size(campaign: Campaign, evidence: Evidence):
    found = table(campaign, "table1_best_and_worst.csv").set_index("case")
    assert found.index.tolist() == [1024, 65636]
    measured = evidence.trials[~evidence.trials.is_baseline]
    for case, row in found.iterrows():
        trials = measured[measured.case == str(case)]
        assert row.trials == len(trials)
        for objective in PRODUCER.objective_names:
            least, most = trials[objective].min(), trials[objective].max()
            best, worst = (most, least) if objective == "throughput_mib_s" else (least, most)
            assert (row[f"best_{objective}"], row[f"worst_{objective}"]) == pytest.approx((best, worst))
            named = trials.set_index("configuration_id")[objective]
            assert named[row[f"worst_{objective}_configuration_id"]] == worst


def test_table_2_names_the_best_trial_per_record_size_and_objective_including_each_cv(
    campaign: Campaign, evidence: Evidence
):
    found = table(campaign, "table2_best_per_objective.csv")
    assert found.groupby("case").objective.agg(set).tolist() == [set(PRODUCER.objective_names)] * 2
    measured = evidence.trials[~evidence.trials.is_baseline]
    for _, row in found.iterrows():
        trial = measured[(measured.case == str(row.case)) & (measured.configuration_id == row.configuration_id)]
        assert trial[row.objective].item() == pytest.approx(row.value)
        assert (trial["batch.size"].item(), trial["acks"].item()) == (row["batch.size"], row["acks"])
        assert row.repetition_ids.split() == list(trial.repetition_ids.item())


def test_a_changed_trial_changes_the_published_studys_tables_and_a_later_rounds_does_not(evidence: Evidence):
    design, study = evidence.design_trials, evidence.study
    at = design.index[(design.case == "1024") & ~design.is_baseline][0]
    changed = design.assign(latency_cv=design.latency_cv.where(design.index != at, 1e-6))
    before, after = (best_and_worst_table(study, each).set_index("case") for each in (design, changed))
    differing = before.columns[(before != after).any()].tolist()
    assert differing == ["best_latency_cv", "best_latency_cv_configuration_id"]
    assert after.best_latency_cv["1024"] == pytest.approx(1e-6)
    winners = best_per_objective_table(study, changed)
    winner = winners[(winners.case == "1024") & (winners.objective == "latency_cv")]
    assert winner.configuration_id.item() == design.configuration_id[at]
    # A later round may find something better: that is no trial of the design.
    later = dataclasses.replace(evidence, trials=changed)
    assert render_page(later, {}) == render_page(evidence, {})


def test_without_a_cv_the_tables_leave_it_out(evidence: Evidence):
    without = evidence.design_trials.assign(latency_cv=float("nan"))
    assert best_and_worst_table(evidence.study, without).best_latency_cv.isna().all()
    assert "latency_cv" not in set(best_per_objective_table(evidence.study, without).objective)
    page = render_page(dataclasses.replace(evidence, design_trials=without), {}).decode()
    assert "Table 1. Best and worst" in page


def test_the_page_shows_the_published_studys_tables(campaign: Campaign, page: str):
    for name in ("best-and-worst", "best-per-objective"):
        assert "1,024 B" in section(page, name)
        assert "65,636 B" in section(page, name)
    winners = table(campaign, "table2_best_per_objective.csv")
    assert all(each in section(page, "best-per-objective") for each in winners.configuration_id)


def test_the_page_names_every_value_that_is_not_the_study_files(evidence: Evidence):
    override = Override(key="protocol.cool_down_s", of_file=5.0, of_campaign=0.0)
    changed = dataclasses.replace(evidence, plan=evidence.plan.model_copy(update={"overrides": [override]}))
    assert "Unlike the study&#39;s file" not in render_page(evidence, {}).decode()
    page = html.unescape(render_page(changed, {}).decode())
    assert "Overrides: protocol.cool_down_s 0 (file: 5)." in page


def test_the_page_says_which_objectives_cannot_be_learned(campaign: Campaign, page: str):
    learnable = pd.read_csv(io.StringIO(read(campaign, "tables/r2_per_objective.csv"))).learnable
    assert page.count("not learnable</td>") == (~learnable).sum() > 0


def section(page: str, name: str) -> str:
    """One section of the page, as text."""
    (found,) = re.findall(rf'<section class="card" id="{name}">(.*?)</section>', page, re.DOTALL)
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", found)).split())


def test_failed_and_rejected_repetitions_are_listed_with_their_reasons(campaign: Campaign, page: str):
    text = section(page, "uncounted")
    assert "1 failed, 1 rejected." in text
    assert text.count("broker 2 was away") == 2
    assert re.search(r"design-r00-1024-b077-c[0-9a-f]{10} .* failed 3 broker 2", text)
    card, other = json.loads(read(campaign, "cards.json"))["contexts"]
    assert (card["repetitions_set_aside"], other["repetitions_set_aside"]) == (1, 0)
    assert "or on the machine: 1 repetition." in " ".join(read(campaign, "cards.txt").split())


def test_repetitions_rejected_by_the_gate_count_nowhere_and_are_listed_with_its_reason(unreported: Campaign):
    keys = unreported.keys
    stored = next(r for r in unreported.read_repetitions(keys.measurements("1024")) if r.is_baseline)
    rejected = rejected_table([stored], {stored.repetition_id: "its clock ran backwards"}, unreported.study)
    unreported.write_table(keys.validation("rejected.parquet"), rejected, rejected_columns(PRODUCER))
    evidence = report._read(unreported)
    assert stored.repetition_id not in evidence.context("1024").sentinel.repetition_ids
    text = section(render_page(evidence, {}).decode(), "uncounted")
    assert "1 failed." in text
    assert "rejected by the gate: its clock ran backwards" in text


def test_nonsense_among_the_noise_repetitions_does_not_count(unreported: Campaign):
    prefix = unreported.keys.noise_repetitions("1024")
    odd = unreported.read_repetitions(prefix)[0].with_values({"latency_p95_ms": 1e6})
    judged = PlausibilityRules(unreported.study).with_implausible_failed(odd)  # as the measurer stores it
    unreported.write_record(f"{prefix}{odd.repetition_id}.json", judged)
    evidence = report._read(unreported)
    assert odd.repetition_id not in evidence.context("1024").sentinel.repetition_ids
    assert evidence.measured["1024"].uncounted == {"failed": 1}


def test_a_campaign_in_which_everything_counted_says_so(evidence: Evidence):
    page = render_page(evidence, {}).decode()
    assert "None. No records were lost or duplicated." in section(page, "uncounted")
    assert 'id="ramp"' not in page


def test_the_page_names_configurations_limited_by_the_load_generator(page: str):
    text = section(page, "generator")
    assert "1,024 B baseline 3 40 the sending thread never waited" in text
    assert "65,636 B baseline 0 40 -" in text


def test_the_noise_report_of_each_record_size_is_shown(campaign: Campaign, page: str):
    text = section(page, "noise")
    for context in json.loads(read(campaign, "cards.json"))["contexts"]:
        needed = context["noise"]["objectives"][1]["blocks_for_wanted_effect"]
        assert re.search(rf"{case_label(context['case'])}: 10 repetitions.* throughput .* {needed:,} latency CV", text)


def test_the_ramp_and_the_rate_that_follows_from_it_are_shown(page: str):
    text = section(page, "ramp")
    assert "sustains 2,500 records/s; latencies are measured at 1,250" in text
    assert "5,000 3,810 260.4 no" in text
    assert "65,636 B" not in text


def test_figures_of_the_latency_breakdown_trace_to_stored_repetitions(campaign: Campaign):
    for context in json.loads(read(campaign, "cards.json"))["contexts"]:
        prefix = campaign.keys.confirmation(context["case"], "repetitions/")
        by_id = {r.repetition_id: r for r in campaign.read_repetitions(prefix)}
        for side in (context["breakdown"]["reference"], context["breakdown"]["pick"]):
            waits = pd.Series([by_id[name].number("queue_time_avg_ms") for name in side["repetition_ids"]])
            assert side["queue_time_avg_ms"] == pytest.approx(waits.median())


def test_each_gain_has_effect_sizes_and_no_second_test_that_could_contradict_it(campaign: Campaign, page: str):
    assert page.count("Hedges' g") == page.count("Cliff's delta") == 2
    assert "Mann-Whitney" not in page
    assert "Welch" not in page
    gain = next(g for g in json.loads(read(campaign, "cards.json"))["cards"][0]["gains"] if g["hedges_g"] is not None)
    assert f"<td>{gain['hedges_g']:.2f}</td><td>{gain['cliffs_delta']:.2f}</td>" in page


def test_only_repetitions_of_the_planned_blocks_are_shown(unreported: Campaign, evidence: Evidence):
    prefix = unreported.keys.confirmation("1024", "repetitions/")
    extra = next(r for r in unreported.read_repetitions(prefix) if r.phase == "choice")
    identity = extra.repetition_id.replace(f"-b{extra.block:03d}-", "-b099-")
    stray = extra.with_values({"repetition_id": identity, "block": 99, "throughput_mib_s": 1e6})
    unreported.write_record(f"{prefix}{identity}.json", stray)
    assert report._read(unreported).repetitions["1024"] == evidence.repetitions["1024"]


def test_champions_are_judged_only_by_points_that_the_design_did_not_measure(evidence: Evidence):
    assert evidence.newly_confirmed().empty  # the recording confirms what it measured
    unknown = evidence.confirmed.configuration_id.iloc[1]
    of_case = evidence.confirmed.case.iloc[1]
    of_unknown = (evidence.trials.configuration_id == unknown) & (evidence.trials.case == of_case)
    fewer = dataclasses.replace(evidence, trials=evidence.trials[~of_unknown])
    assert fewer.newly_confirmed().configuration_id.tolist() == [unknown]


def test_an_objective_with_too_few_held_out_rows_is_not_called_not_learnable(unreported: Campaign):
    key = unreported.keys.surrogates("scores.parquet")
    scores = unreported.read_table(key, SCORE_COLUMNS, factors=False)
    scores = scores.assign(r2_cross_validated=float("nan"), learnable=False).astype({"case": "string"})
    unreported.write_table(key, scores, SCORE_COLUMNS, factors=False)
    page = render_page(report._read(unreported), {}).decode()
    assert page.count("too few to judge</td>") == len(scores)
    assert "not learnable</td>" not in page
