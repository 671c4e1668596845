import assert from "node:assert/strict";
import { test } from "node:test";
import { heat, levels } from "../../plugins/kafka_pareto_explorer/comparison_traces.js";

const THEME = { ink: "black", line: "grey", panel: "white" };
const VIEW = { axis: "log2", factors: ["batch.size"], ticks: ["16 KiB", "64 KiB", "1 MiB"] };

const interval = (value, low = null, high = null) => ({ value, low, high });

const point = (place, more) => ({
  level: String(place),
  place,
  is_reference: false,
  ratio: interval(0.5, 0.4, 0.6),
  mean: interval(1000, 900, 1100),
  is_significant: true,
  published_ratio: null,
  ...more,
});

const POINTS = [
  point(16_384, { published_ratio: 0.15 }),
  point(65_536, { is_significant: false, ratio: interval(0.9), published_ratio: 0.35 }),
  point(1_048_576, { is_reference: true, is_significant: false, ratio: interval(1), published_ratio: 1 }),
];
const CHART = { title: "throughput (more is better)", reference: "2,000 records/s", points: POINTS, heat: null };

const named = (traces, name) => traces.find((trace) => trace.name === name);

test("levels are drawn at their ratios with intervals, by significance, beside the published ratios", () => {
  const [traces, layout] = levels(VIEW, CHART, THEME);

  assert.deepEqual(
    traces.slice(0, 3).map((trace) => [trace.name, trace.x, trace.y]),
    [
      ["reference", [1_048_576], [1]],
      ["significantly different", [16_384], [0.5]],
      ["not significantly different", [65_536], [0.9]],
    ],
  );
  const published = named(traces, "published elsewhere");
  assert.deepEqual(published.y, [0.15, 0.35, 1]);
  // The offset is constant on the logarithmic axis.
  const aside = published.x.map((place, at) => (place / POINTS[at].place).toFixed(4));
  assert.deepEqual(new Set(aside), new Set(["1.1096"]));
  const { array, arrayminus } = named(traces, "significantly different").error_y;
  assert.deepEqual(
    [array, arrayminus].flat().map((each) => each.toFixed(3)),
    ["0.100", "0.100"],
  );
  assert.deepEqual(named(traces, "not significantly different").error_y.array, [0]);
  assert.deepEqual([layout.xaxis.type, layout.yaxis.type], ["log", "log"]);
  assert.deepEqual(layout.xaxis.ticktext, VIEW.ticks);
});

test("levels without numbers have an evenly spaced axis", () => {
  assert.equal(levels({ ...VIEW, axis: "names" }, CHART, THEME)[1].xaxis.type, "linear");
});

test("a single published value is not drawn, and there is no chart without a ratio", () => {
  const alone = POINTS.map((each, at) => (at === 2 ? each : { ...each, published_ratio: null }));
  assert.equal(named(levels(VIEW, { ...CHART, points: alone }, THEME)[0], "published elsewhere"), undefined);

  const none = POINTS.map((each) => (each.is_reference ? each : { ...each, ratio: null }));
  assert.equal(levels(VIEW, { ...CHART, points: none }, THEME), null);
});

test("names of levels become text, never markup", () => {
  const bad = POINTS.map((each) => ({ ...each, level: "<b>x</b>" }));
  const [traces, layout] = levels(
    { ...VIEW, factors: ["<i>f</i>"], ticks: ["<u>t</u>"] },
    { ...CHART, points: bad, title: "<em>t</em>" },
    THEME,
  );

  assert.doesNotMatch(JSON.stringify([traces, layout]), /<(?:b|i|u|em)>/u);
});

test("a grid is a heat map with colors symmetric around no change and blank unknown cells", () => {
  const grid = {
    down: "batch.size",
    across: "linger.ms",
    sides: ["16 KiB", "1 MiB"],
    tops: ["0", "10"],
    better: [
      [-1.2, null],
      [0.3, 0],
    ],
  };
  const texts = [
    ["0.30*†", "none"],
    ["1.35*", "1\nreference"],
  ];
  const [[trace], layout] = heat({ ...CHART, points: [], heat: { ...grid, texts, references: [[1, 1]] } }, THEME);

  assert.deepEqual(
    layout.shapes.map(({ fillcolor, line }) => [fillcolor, line.width]),
    [
      ["rgb(213,94,0)", 0],
      ["white", 0],
      ["rgb(188,214,226)", 0],
      ["rgb(251,247,242)", 2],
    ],
  );
  assert.deepEqual(
    layout.annotations.map(({ x, y, text }) => [x, y, text]),
    [
      [0, 0, "0.30*†"],
      [1, 0, "none"],
      [0, 1, "1.35*"],
      [1, 1, "1<br>reference"],
    ],
  );
  assert.ok(layout.yaxis.range[0] > layout.yaxis.range[1]); // the first row is on top
  assert.match(trace.text[0], /batch\.size 16 KiB<br>linger\.ms 0/u);
});
