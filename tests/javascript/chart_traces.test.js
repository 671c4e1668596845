import assert from "node:assert/strict";
import { test } from "node:test";
import { logTicks, marks, parallel, plain, scatter } from "../../plugins/kafka_pareto_explorer/chart_traces.js";
import { RECOMMENDED, VIEW } from "./view.js";

const THEME = { ink: "#111", line: "#ccc", panel: "#fff" };
const ALL = ["c0", "c1", "c2", "c3"];
const INTERVALS = { design: { c2: { p95_latency_ms: [35, 50] } }, confirmed: { c1: { p95_latency_ms: [7.5, 8.25] } } };
const AXES = { across: "p95_latency_ms", up: "throughput_mib_s", best_id: "c1" };

const drawnOf = (view = VIEW, remaining = ALL) => marks(view, { remaining_ids: remaining }, INTERVALS);
const kinds = (view) => drawnOf(view).map((mark) => [mark.point.configuration_id, mark.kind]);
const traceOf = ([traces], name) => traces.find((trace) => trace.name === name);

test("every measured configuration and every estimated point is drawn once", () => {
  assert.deepEqual(kinds(VIEW), [
    ["c0", "baseline"],
    ["c1", "recommended"],
    ["c2", "design"],
    ["c1", "estimated"],
    ["c3", "estimated"],
  ]);
});

test("a configuration that is not recommended is drawn by its next role", () => {
  const kindOfSecond = (view) => kinds(view)[1][1];
  const nobody = { ...VIEW, recommended_id: null };

  assert.equal(kindOfSecond({ ...nobody, pick_id: "c1" }), "pick");
  assert.equal(kindOfSecond(nobody), "front");
  assert.equal(kindOfSecond({ ...VIEW, in_force_id: "c1" }), "in_force");
  const off = VIEW.points.with(1, { ...RECOMMENDED, on_measured_front: false });
  assert.equal(kindOfSecond({ ...nobody, points: off }), "confirmed");
  assert.equal(kinds({ ...VIEW, recommended_id: "c0" })[0][1], "baseline");
});

test("the scatter shows measured values, and estimates at their own", () => {
  const chart = scatter(VIEW, drawnOf(), AXES, THEME);

  assert.deepEqual(traceOf(chart, "recommended").x, [8]);
  assert.deepEqual(traceOf(chart, "recommended").y, [125.04]);
  assert.deepEqual(traceOf(chart, "estimated front").x, [8.5, 7]);
  assert.deepEqual(traceOf(chart, "estimated front").customdata, ["c1", "c3"]);
  assert.equal(traceOf(chart, "confirmed"), undefined);
});

test("a mark's text has its role, settings and all objectives", () => {
  assert.deepEqual(traceOf(scatter(VIEW, drawnOf(), AXES, THEME), "recommended").text, [
    "c1: recommended<br>batch.size=65536, compression.type=lz4<br>p95 latency 8.0 ms<br>throughput 125.0 MiB/s<br>" +
      "latency CV 0.123<br>throughput CV -",
  ]);
});

test("names from a study become text, never markup", () => {
  assert.equal(plain("<b>a & b</b>"), "&lt;b&gt;a &amp; b&lt;/b&gt;");
  const hostile = { ...RECOMMENDED, factors: { "<img>": "<script>" } };
  const [traces] = scatter({ ...VIEW, points: [hostile] }, drawnOf({ ...VIEW, points: [hostile] }), AXES, THEME);
  assert.match(traces[0].text[0], /&lt;img&gt;=&lt;script&gt;/u);
});

test("a point with an unknown value is not in the scatter of that objective", () => {
  const [traces] = scatter(VIEW, drawnOf(), { ...AXES, up: "throughput_cv" }, THEME);

  assert.deepEqual(
    traces.map((trace) => [trace.name, trace.x]),
    [
      ["estimated front", [7]],
      ["best match", []],
    ],
  );
});

test("intervals are bars from the value, each from where it was measured", () => {
  const chart = scatter(VIEW, drawnOf(), AXES, THEME);
  const { array, arrayminus } = traceOf(chart, "recommended").error_x;

  assert.deepEqual([array, arrayminus], [[0.25], [0.5]]);
  assert.deepEqual(traceOf(chart, "design and rounds").error_x.array, [10]);
  assert.equal(traceOf(chart, "baseline").error_x, undefined);
  assert.equal(traceOf(chart, "recommended").error_y, undefined);
});

test("excluded configurations are faded without bars, and the best match has a ring", () => {
  const chart = scatter(VIEW, drawnOf(VIEW, ["c0", "c1"]), AXES, THEME);

  assert.deepEqual(traceOf(chart, "design and rounds").marker.opacity, [0.15]);
  assert.equal(traceOf(chart, "design and rounds").error_x, undefined);
  assert.deepEqual(traceOf(chart, "recommended").marker.opacity, [1]);
  assert.deepEqual(traceOf(chart, "best match").x, [8]); // its measurement, not its estimate
});

test("latency and throughput are on logarithmic axes with their units, shares are not", () => {
  const [, layout] = scatter(VIEW, drawnOf(), { ...AXES, up: "latency_cv" }, THEME);

  assert.equal(layout.xaxis.type, "log");
  assert.equal(layout.xaxis.title.text, "p95 latency, ms");
  assert.equal(layout.yaxis.type, undefined);
  assert.equal(layout.yaxis.title.text, "latency CV");
  assert.equal(layout.font.color, THEME.ink);
});

test("ticks of a logarithmic axis are round numbers around the values", () => {
  assert.deepEqual(logTicks([3, 400]).tickvals, [2, 5, 10, 20, 50, 100, 200, 500]);
  assert.deepEqual(logTicks([1000, 9000]).ticktext, ["1,000", "2,000", "5,000", "10,000"]);
  assert.deepEqual(logTicks([10, 20]).tickvals, [7, 8, 9, 10, 15, 20, 30]);
});

test("a factor's levels are spread evenly, in the study's order", () => {
  const [, layout] = parallel(VIEW, drawnOf(), THEME);
  const ticks = layout.annotations.filter((each) => each.x === 5 && each.y >= 0).map(({ y, text }) => [y, text]);

  assert.deepEqual(ticks, [
    [0, "none"],
    [1, "lz4"],
  ]);
});

test("up to ten numbers are levels, more are a scale from lowest to highest", () => {
  const many = Array.from({ length: 11 }, (_, at) => ({
    ...RECOMMENDED,
    configuration_id: `d${at}`,
    factors: { "batch.size": 2 ** at, "compression.type": "none" },
  }));
  const heights = (points) => {
    const view = { ...VIEW, points };
    const [traces] = parallel(
      view,
      drawnOf(
        view,
        points.map((point) => point.configuration_id),
      ),
      THEME,
    );
    // Four objectives, then batch.size, compression.type, and the gap to the next line.
    return traces[0].y.filter((_, at) => at % 6 === 3);
  };
  const sizes = (points) => {
    const [, layout] = parallel({ ...VIEW, points }, drawnOf({ ...VIEW, points }), THEME);
    return layout.annotations.filter(({ y, text }) => y >= 0 && /^[\d,]+$/u.test(text)).map(({ text }) => text);
  };

  assert.deepEqual(sizes(many.slice(0, 3)), ["1", "2", "4"]);
  assert.deepEqual(sizes(many), ["1", "1,024"]);
  const logarithmic = heights(many);
  for (const [at, height] of logarithmic.entries()) assert.ok(Math.abs(height - at / 10) < 1e-9, `${at}: ${height}`);
});

test("an objective without values has no axis", () => {
  const [, layout] = parallel({ ...VIEW, points: VIEW.points.slice(0, 2) }, drawnOf().slice(0, 2), THEME);
  const names = layout.annotations.filter((each) => each.y < 0).map((each) => each.text);

  assert.deepEqual(names, ["p95 latency", "throughput", "latency CV", "batch.size", "compression<br>.type"]);
});

test("with many axes, names are tilted and ticks have no units", () => {
  const names = Array.from({ length: 9 }, (_, at) => `flush_timeout_${at}_ms`);
  const factors = Object.fromEntries(names.map((name) => [name, 3]));
  const points = VIEW.points.map((point) => ({ ...point, factors }));
  const view = { ...VIEW, points, axes: names.map((name) => ({ name, levels: [], log_scale: false })) };
  const named = (shownView) => parallel(shownView, drawnOf(shownView), THEME)[1].annotations;
  const tilts = (shownView) => [
    ...new Set(
      named(shownView)
        .filter(({ y }) => y < 0)
        .map(({ textangle }) => textangle),
    ),
  ];
  const ends = (shownView) =>
    named(shownView)
      .filter(({ x, y }) => x === 0 && y >= 0)
      .map(({ text }) => text);

  assert.deepEqual(tilts(VIEW), [undefined]);
  assert.deepEqual(tilts(view), [30]);
  assert.ok(ends(VIEW).every((text) => text.endsWith(" ms")));
  assert.ok(ends(view).every((text) => /^[\d.,]+$/u.test(text)));
});

test("excluded lines are separate traces that share one legend entry", () => {
  const [traces] = parallel(VIEW, drawnOf(VIEW, ["c0", "c1"]), THEME);
  const entries = traces.filter((trace) => trace.showlegend).map((trace) => trace.name);

  assert.deepEqual(entries, ["design and rounds", "estimated front", "baseline", "recommended"]);
  assert.equal(traces.find((trace) => trace.name === "design and rounds").opacity, 0.15);
});
