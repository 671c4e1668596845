import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import {
  comparison,
  estimateRows,
  intervalNote,
  priorText,
  progressText,
  stepText,
} from "../../plugins/kafka_pareto_explorer/panels.js";
import { BASELINE, DESIGNED, ESTIMATED, RECOMMENDED, VIEW } from "./view.js";

const REPORT = {
  steps: [
    { name: "design", state: "done", repetitions: null, repetitions_most: null },
    { name: "measure", state: "under way", repetitions: 30, repetitions_most: 120 },
    { name: "confirm", state: "waiting", repetitions: 0, repetitions_most: null },
  ],
  repetitions: 30,
  repetitions_likely: 100,
  repetitions_most: 150,
  time_left: { likely_s: 600, low_s: 430, high_s: 840 },
  last_written_at: "2026-05-04T12:00:00Z",
};

before(() => {
  mock.timers.enable({ apis: ["Date"], now: Date.parse("2026-05-04T12:00:20Z") });
});
after(() => {
  mock.timers.reset();
});

test("a running campaign shows its progress and the estimated time left", () => {
  assert.equal(
    progressText(REPORT, { state: "running" }),
    "Running: 1 of 3 steps, 30 of about 100 repetitions (at most 150), about 10 min left (7 min to 14 min); " +
      "last update 20 s ago. ",
  );
  assert.match(
    progressText({ ...REPORT, repetitions: 100, time_left: { likely_s: 30 } }, { state: "running" }),
    /, 100 repetitions, less than a minute left; /u,
  );
  assert.match(progressText({ ...REPORT, repetitions_most: 100 }, null), /, 30 of 100 repetitions; /u);
});

test("only a running campaign shows the time left", () => {
  assert.match(
    progressText(REPORT, null),
    /^Not finished: 1 of 3 steps, 30 of about 100 repetitions \(at most 150\); last/u,
  );
  assert.match(progressText(REPORT, { state: "queued" }), /^Queued in Airflow: [^,]*, [^,]*; last/u);
  assert.match(progressText(REPORT, { state: "failed" }), /^Stopped: the Airflow run failed: /u);
  assert.doesNotMatch(progressText({ ...REPORT, time_left: null }, { state: "running" }), /left/u);
});

test("an Airflow state without a text is shown as it is", () => {
  assert.match(progressText(REPORT, { state: "deferred" }), /^deferred: /u);
});

test("without a plan there is no maximum", () => {
  assert.match(
    progressText({ ...REPORT, repetitions_likely: null, repetitions_most: null, repetitions: 1 }, null),
    /, 1 repetition; /u,
  );
});

test("a step shows its state and repetitions, and is active only while its run is", () => {
  const [design, measure, confirm] = REPORT.steps;

  assert.equal(stepText(design, true), "✓ design");
  assert.equal(stepText(measure, true), "▶ measure 30/120");
  assert.equal(stepText(measure, false), "… measure 30/120");
  assert.equal(stepText(confirm, true), "· confirm 0/?");
});

test("a warm start names the used campaigns with the age of their newest trials", () => {
  const campaigns = [
    { campaign: "c1", trials: 12, age_days: { 1024: 3.26, 8192: 2.04 } },
    { campaign: "c2", trials: 1, age_days: { 1024: 10 } },
    { campaign: "c3", trials: 0, age_days: { 1024: 40 } },
  ];
  assert.equal(
    priorText({ campaigns }),
    "Warm start: the search started from c1 (12 trials, 2.0 days old), c2 (1 trial, 10.0 days old); " +
      "no usable trials in 1 more campaign. All numbers below are from this campaign.",
  );
  assert.equal(
    priorText({ campaigns: campaigns.slice(2) }),
    "Warm start: no earlier campaign could be used; no usable trials in 1 more campaign. All numbers below are from this campaign.",
  );
});

test("two configurations are shown side by side with their differences", () => {
  assert.deepEqual(comparison(VIEW, RECOMMENDED, BASELINE), [
    ["", "c1", "c0", "left vs. right"],
    ["role", "recommended", "baseline", ""],
    ["batch.size", 65_536, 16_384, "differs"],
    ["compression.type", "lz4", "none", "differs"],
    ["durability", "LEADER", "LEADER", ""],
    ["p95 latency", "8.0 ms", "10.0 ms", "-20.0 %"],
    ["throughput", "125.0 MiB/s", "100.0 MiB/s", "+25.0 %"],
    ["latency CV", "0.123", "0.123", "0.0 %"],
    ["throughput CV", "-", "-", "-"],
    ["study rules", "all met", "all met", ""],
    ["measured in", "choice blocks", "choice blocks", ""],
    ["repetitions", 20, 20, ""],
  ]);
});

test("durability is not compared if the driver declares none", () => {
  const heads = comparison({ ...VIEW, durabilities: [] }, DESIGNED, RECOMMENDED).map(([head]) => head);

  assert.deepEqual(heads.slice(3, 5), ["compression.type", "p95 latency"]);
});

test("a change of more than double has no decimals, and the round of a measurement is shown", () => {
  const rows = comparison(VIEW, DESIGNED, RECOMMENDED);

  assert.deepEqual(rows[4], ["durability", "NONE", "LEADER", "differs"]);
  assert.deepEqual(rows[5], ["p95 latency", "40.0 ms", "8.0 ms", "+400 %"]);
  assert.deepEqual(rows[9], ["study rules", "violates batch.size >= record.size", "all met", ""]);
  assert.deepEqual(rows[10], ["measured in", "round 0", "choice blocks", ""]);
});

test("estimates are those of the confirmed configurations, with the best match marked", () => {
  const { header, rows, chosen } = estimateRows(VIEW, { best_id: "c1" });

  assert.deepEqual(header.slice(0, 3), ["Configuration", "role", "p95 latency"]);
  assert.deepEqual(
    rows.map(([id, is]) => [id, is]),
    [
      ["c0", "baseline; the baseline"],
      ["c1", "recommended; highest throughput"],
    ],
  );
  assert.equal(rows[0][2], "- → 10.0 ms");
  assert.equal(rows[1][2], "8.5 ms → 8.0 ms");
  assert.equal(chosen, 1);
});

test("before a confirmation they are those of the estimated front, if there is one", () => {
  const early = { ...VIEW, points: [DESIGNED, ESTIMATED] };

  assert.deepEqual(
    estimateRows(early, { best_id: "c2" }).rows.map(([id, , latency]) => [id, latency]),
    [["c3", "7.0 ms → -"]],
  );
  assert.equal(estimateRows(early, { best_id: "c2" }).chosen, -1);
  assert.deepEqual(estimateRows({ ...VIEW, points: [DESIGNED] }, {}).rows, []);
});

test("the note states the count if not all points of the estimated front are shown", () => {
  assert.equal(intervalNote(VIEW), "bars: 95 % intervals of means with at least 2 repetitions");
  assert.match(intervalNote({ ...VIEW, estimated_front_points: 92 }), /; 2 of 92 points of the estimated front$/u);
});
