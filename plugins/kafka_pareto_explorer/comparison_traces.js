// Plotly traces and layouts of a comparison's quantities.

import { layoutOf, logTicks, plain } from "./chart_traces.js";

const GROUPS = [
  { key: "reference", name: "reference", symbol: "star", size: 15, color: null },
  { key: "significant", name: "significantly different", symbol: "circle", size: 9, color: "#0072b2" },
  { key: "not_significant", name: "not significantly different", symbol: "square", size: 9, color: "#8a8a8a" },
];
const PUBLISHED = { name: "published elsewhere", symbol: "diamond-open", color: "#d55e00" };
const [WORSE, SAME, BETTER] = [
  [213, 94, 0],
  [251, 247, 242],
  [0, 114, 178],
];
const STRONG = 0.72;
const BESIDE = 0.025; // fraction of the axis; keeps hollow marks away from the measured ones
const LEAST_CHANGE = 0.05;

function groupOf(point) {
  if (point.is_reference) return "reference";
  return point.is_significant ? "significant" : "not_significant";
}

const number = (value) => Number(value.toPrecision(4)).toLocaleString("en", { maximumFractionDigits: 6 });

function intervalText({ value, low, high }) {
  return low === null || high === null ? number(value) : `${number(value)} (${number(low)} to ${number(high)})`;
}

function hoverText(point, group) {
  const mean = point.mean ? [`mean ${intervalText(point.mean)}`] : [];
  const ratio = point.is_reference ? [] : [`ratio to reference ${intervalText(point.ratio)}`];
  return [point.level, ...mean, ...ratio, group.name].map(plain).join("<br>");
}

function errorBars(points) {
  const side = (end) => points.map(({ ratio }) => (ratio[end] === null ? 0 : Math.abs(ratio[end] - ratio.value)));
  return { type: "data", symmetric: false, array: side("high"), arrayminus: side("low"), thickness: 1.4, width: 4 };
}

function levelsTrace(points, group, theme) {
  const color = group.color ?? theme.ink;
  return {
    type: "scatter",
    mode: "markers",
    name: group.name,
    hoverinfo: "text",
    x: points.map((point) => point.place),
    y: points.map((point) => point.ratio.value),
    error_y: { ...errorBars(points), color },
    text: points.map((point) => hoverText(point, group)),
    marker: { symbol: group.symbol, size: group.size, color },
  };
}

function publishedTrace(points, isEven) {
  const [along, back] = isEven ? [(place) => place, (place) => place] : [Math.log, Math.exp];
  const places = points.map((point) => along(point.place));
  const aside = BESIDE * (Math.max(...places) - Math.min(...places));
  return {
    type: "scatter",
    mode: "markers",
    name: PUBLISHED.name,
    hoverinfo: "text",
    x: places.map((place) => back(place + aside)),
    y: points.map((point) => point.published_ratio),
    text: points.map((point) =>
      [point.level, `published: ratio ${number(point.published_ratio)} to the published reference`]
        .map(plain)
        .join("<br>"),
    ),
    marker: { symbol: PUBLISHED.symbol, size: 13, color: PUBLISHED.color, line: { width: 2 } },
  };
}

/** A table's levels as ratios to the reference, on a logarithmic axis if the levels are powers; null without a ratio. */
export function levels(view, chart, theme) {
  const drawn = chart.points.filter((point) => point.ratio && point.ratio.value > 0);
  if (!drawn.some((point) => !point.is_reference)) return null;
  const published = chart.points.filter((point) => point.published_ratio !== null && point.published_ratio > 0);
  const traces = GROUPS.map((group) => [drawn.filter((point) => groupOf(point) === group.key), group])
    .filter(([points]) => points.length > 0)
    .map(([points, group]) => levelsTrace(points, group, theme));
  if (published.length > 1) traces.push(publishedTrace(published, view.axis === "names"));
  const ends = drawn.flatMap(({ ratio }) =>
    [ratio.low, ratio.value, ratio.high].filter((end) => end !== null && end > 0),
  );
  return [
    traces,
    layoutOf(theme, {
      margin: { l: 60, r: 20, t: 64, b: 50 },
      xaxis: {
        type: view.axis === "names" ? "linear" : "log",
        title: { text: plain(view.factors[0]) },
        tickvals: chart.points.map((point) => point.place),
        ticktext: view.ticks.map(plain),
        gridcolor: theme.line,
        zeroline: false,
      },
      yaxis: {
        type: "log",
        title: { text: "ratio to reference" },
        gridcolor: theme.line,
        ...logTicks([...ends, ...published.map((point) => point.published_ratio)]),
      },
    }),
  ];
}

/** The color of a change from -1 (worst) to 1 (best). */
function colourOf(change) {
  const end = change < 0 ? WORSE : BETTER;
  return `rgb(${SAME.map((same, at) => Math.round(same + Math.abs(change) * (end[at] - same))).join(",")})`;
}

/** A grid or series as a heat map of rectangles: Plotly's heat map needs a style that the page's policy blocks. */
export function heat(chart, theme) {
  const { down, across, sides, tops, better, texts, references } = chart.heat;
  const most = Math.max(LEAST_CHANGE, ...better.flat().map((value) => Math.abs(value ?? 0)));
  const cells = texts.flatMap((row, y) =>
    row.map((text, x) => ({ x, y, text, change: better[y][x] === null ? null : better[y][x] / most })),
  );
  const isReference = ({ x, y }) => references.some(([row, column]) => y === row && x === column);
  const hover = ({ x, y, text }) => [`${down} ${sides[y]}`, `${across} ${tops[x]}`, text];
  const trace = {
    type: "scatter",
    mode: "markers",
    hoverinfo: "text",
    x: cells.map(({ x }) => x),
    y: cells.map(({ y }) => y),
    text: cells.map((cell) => hover(cell).map(plain).join("<br>")),
    marker: { opacity: 0, size: 30 },
  };
  const shapes = cells.map((cell) => ({
    type: "rect",
    x0: cell.x - 0.5,
    x1: cell.x + 0.5,
    y0: cell.y - 0.5,
    y1: cell.y + 0.5,
    layer: "below",
    fillcolor: cell.change === null ? theme.panel : colourOf(cell.change),
    line: { width: isReference(cell) ? 2 : 0, color: theme.ink },
  }));
  const annotations = cells.map(({ x, y, text, change }) => ({
    x,
    y,
    text: plain(text).replace("\n", "<br>"),
    showarrow: false,
    font: { size: 12, color: cellInk(change, theme) },
  }));
  const axis = (factor, names) => ({
    title: { text: plain(factor) },
    tickvals: names.map((_, at) => at),
    ticktext: names.map(plain),
    range: [-0.5, names.length - 0.5],
    showgrid: false,
    zeroline: false,
  });
  return [
    [trace],
    layoutOf(theme, {
      margin: { l: 90, r: 20, t: 10, b: 50 },
      showlegend: false,
      annotations,
      shapes,
      xaxis: axis(across, tops),
      yaxis: { ...axis(down, sides), range: [sides.length - 0.5, -0.5] },
    }),
  ];
}

function cellInk(change, theme) {
  if (change === null) return theme.ink;
  return Math.abs(change) > STRONG ? "#ffffff" : "#1c2330";
}
