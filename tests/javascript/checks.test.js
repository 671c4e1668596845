import assert from "node:assert/strict";
import { test } from "node:test";
import { checkRows, events, seriesOf, traceOf } from "../../plugins/kafka_pareto_explorer/checks.js";
import { VIEW } from "./view.js";

const THEME = { ink: "#111", line: "#ccc", panel: "#fff" };
const LATENCY = "p95_latency_ms";
const SERIES = seriesOf(VIEW);
const change = (objective, more) => ({
  objective,
  found: { ratio: 0.8, low: 0.75, high: 0.9 },
  change_fraction: null,
  change_low_fraction: null,
  change_high_fraction: null,
  drifted: false,
  ...more,
});
const check = (at, more) => ({
  at,
  version: 1,
  outcome_text: "still the best",
  change_point: false,
  reasons: [],
  changes: [change(LATENCY), change("throughput_mib_s")],
  ...more,
});

test("a ratio is drawn with the two sides of its interval", () => {
  const trace = traceOf([check("2026-05-01T00:00:00Z")], SERIES[0]);

  assert.deepEqual([trace.x, trace.y], [["2026-05-01T00:00:00Z"], [0.8]]);
  assert.ok(Math.abs(trace.error_y.array[0] - 0.1) < 1e-9);
  assert.ok(Math.abs(trace.error_y.arrayminus[0] - 0.05) < 1e-9);
});

test("a ratio without an interval has no bar, and a check without a ratio has no point", () => {
  const alone = check("a", { changes: [change(LATENCY, { found: { ratio: 1.2, low: null, high: null } })] });
  const none = check("b", { changes: [change(LATENCY, { found: null })] });
  const trace = traceOf([alone, none, check("c", { changes: [] })], SERIES[0]);

  assert.deepEqual(trace.x, ["a"]);
  assert.deepEqual([trace.error_y.array, trace.error_y.arrayminus], [[0], [0]]);
});

test("a drifted ratio is a larger cross", () => {
  const drifted = check("b", { changes: [change(LATENCY, { drifted: true })] });
  const { marker } = traceOf([check("a"), drifted], SERIES[0]);

  assert.deepEqual(marker.symbol, ["circle", "x"]);
  assert.deepEqual(marker.size, [8, 13]);
});

test("reasons become text, never markup", () => {
  const [text] = traceOf([check("a", { reasons: ["<b>slow</b>"] })], SERIES[0]).text;

  assert.match(text, /still the best<br>&lt;b&gt;slow&lt;\/b&gt;$/u);
  assert.match(text, /p95 latency 0\.800 \(0\.750 to 0\.900\)/u);
});

test("a new version and a change point are marked at their first check", () => {
  const checks = [
    check("a"),
    check("b"),
    check("c", { version: 2 }),
    check("d", { version: null, change_point: true }),
  ];
  const { shapes, annotations } = events(checks, THEME);

  assert.deepEqual(
    annotations.map(({ x, text }) => [x, text]),
    [
      ["c", "version 2"],
      ["d", "version -"],
      ["d", "change point"],
    ],
  );
  assert.equal(new Set(annotations.map(({ y }) => y)).size, 3); // no overlaps
  assert.deepEqual(
    shapes.map((shape) => [shape.x0, shape.line.dash]),
    [
      ["c", "dot"],
      ["d", "dot"],
      ["d", "dash"],
    ],
  );
});

test("the table lists the latest check first, with the change since activation", () => {
  const changed = change(LATENCY, {
    change_fraction: 0.125,
    change_low_fraction: -0.01,
    change_high_fraction: 0.3,
  });
  const unsure = change("throughput_mib_s", {
    found: { ratio: 1.25, low: null, high: null },
    change_fraction: -0.02,
  });
  const { header, rows } = checkRows(
    [
      check("2026-05-01T00:00:00Z"),
      check("2026-05-02T00:00:00Z", {
        version: null,
        change_point: true,
        reasons: ["It drifted.", "Tune again."],
        changes: [changed, unsure],
      }),
    ],
    SERIES,
  );

  assert.equal(header.length, 8);
  assert.deepEqual(header.slice(3, 5), ["p95 latency, active / baseline", "change"]);
  assert.deepEqual(rows[0].slice(1), [
    "-",
    "still the best, change point",
    "0.800 (0.750 to 0.900)",
    "+12.5 % (-1.0 % to +30.0 %)",
    "1.250",
    "-2.0 %",
    "It drifted. Tune again.",
  ]);
  assert.deepEqual(rows[1].slice(1), [
    1,
    "still the best",
    "0.800 (0.750 to 0.900)",
    "-",
    "0.800 (0.750 to 0.900)",
    "-",
    "",
  ]);
});
