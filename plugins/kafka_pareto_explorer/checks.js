// The checks of the active settings over time, each relative to the baseline measured alongside.

import { ask } from "./asking.js";
import { layoutOf, logTicks, plain, upright } from "./chart_traces.js";
import { CHART_OPTIONS, colours, plotly } from "./charts.js";
import { fill, quiet, table } from "./dom.js";
import { moment } from "./values.js";

const NOTHING =
  "No checks yet. The DAG retune_producer measures the active settings alongside the baseline and reports drift.";

const STYLES = [
  { color: "#d55e00", symbol: "circle" },
  { color: "#0072b2", symbol: "square" },
  { color: "#009e73", symbol: "diamond" },
];
const DRIFTED = { symbol: "x", size: 13 };

/** The objectives that checks compare (means only), each with a color and a symbol. */
export const seriesOf = (view) =>
  Object.entries(view.objectives)
    .filter(([, { is_spread: isSpread }]) => !isSpread)
    .map(([objective, { label }], at) => ({ objective, name: label, ...STYLES[at % STYLES.length] }));

const changeOf = (check, objective) => check.changes.find((change) => change.objective === objective);

export function traceOf(checks, series) {
  const points = checks
    .map((check) => [check, changeOf(check, series.objective)])
    .filter(([, change]) => change?.found);
  const side = (end) => points.map(([, { found }]) => (found[end] === null ? 0 : Math.abs(found[end] - found.ratio)));
  return {
    type: "scatter",
    mode: "lines+markers",
    name: series.name,
    hoverinfo: "text",
    x: points.map(([check]) => check.at),
    y: points.map(([, change]) => change.found.ratio),
    error_y: { type: "data", symmetric: false, array: side("high"), arrayminus: side("low"), thickness: 1, width: 3 },
    text: points.map(([check, change]) =>
      [moment(check.at), `${series.name} ${ratioText(change)}`, check.outcome_text, ...check.reasons]
        .map(plain)
        .join("<br>"),
    ),
    line: { color: series.color, width: 1.5 },
    marker: {
      color: series.color,
      size: points.map(([, { drifted }]) => (drifted ? DRIFTED.size : 8)),
      symbol: points.map(([, { drifted }]) => (drifted ? DRIFTED.symbol : series.symbol)),
    },
  };
}

/** Vertical lines at each version's first check, and at change points. */
export function events(checks, theme) {
  const versions = checks
    .filter((check, at) => at && check.version !== checks[at - 1].version)
    .map((check) => [check.at, `version ${check.version ?? "-"}`, "dot"]);
  const changes = checks.filter((check) => check.change_point).map((check) => [check.at, "change point", "dash"]);
  const both = [...versions, ...changes];
  return {
    shapes: both.map(([x, , dash]) => upright(x, { color: theme.ink, width: 1, dash }, { yref: "paper" })),
    annotations: both.map(([x, text], at) => ({
      x,
      y: 1 - 0.08 * (at % 3),
      yref: "paper",
      text,
      showarrow: false,
      xanchor: "left",
      xshift: 3,
      font: { size: 11 },
      bgcolor: theme.panel,
    })),
  };
}

function ratioText(change) {
  if (!change?.found) return "-";
  const { ratio, low, high } = change.found;
  return low === null ? ratio.toFixed(3) : `${ratio.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`;
}

function changeText(change) {
  if (!change || change.change_fraction === null) return "-";
  const percent = (fraction) => `${fraction > 0 ? "+" : ""}${(fraction * 100).toFixed(1)} %`;
  const [low, high] = [change.change_low_fraction, change.change_high_fraction];
  return `${percent(change.change_fraction)}${low === null ? "" : ` (${percent(low)} to ${percent(high)})`}`;
}

/** The table of all checks, newest first. */
export function checkRows(checks, allSeries) {
  const compared = allSeries.flatMap(({ name }) => [`${name}, active / baseline`, "change"]);
  const texts = (check) =>
    allSeries
      .map(({ objective }) => changeOf(check, objective))
      .flatMap((change) => [ratioText(change), changeText(change)]);
  return {
    header: ["Checked", "version", "outcome", ...compared, "reasons"],
    rows: checks
      .toReversed()
      .map((check) => [
        moment(check.at),
        check.version ?? "-",
        check.outcome_text + (check.change_point ? ", change point" : ""),
        ...texts(check),
        check.reasons.join(" "),
      ]),
  };
}

let last = null;

async function draw(checks, allSeries) {
  const chart = document.getElementById("checks-chart");
  const traces = allSeries.map((series) => traceOf(checks, series));
  const values = traces.flatMap((trace) => trace.y);
  chart.hidden = values.length === 0;
  if (values.length === 0) return;
  const theme = colours();
  traces.push({
    type: "scatter",
    mode: "markers",
    x: [null],
    y: [null],
    name: "drift in this ratio",
    marker: { ...DRIFTED, color: theme.ink },
  });
  (await plotly()).react(
    chart,
    traces,
    layoutOf(theme, {
      margin: { l: 60, r: 20, t: 30, b: 40 },
      ...events(checks, theme),
      xaxis: { gridcolor: theme.line, type: "date" },
      yaxis: { gridcolor: theme.line, type: "log", title: { text: "active / baseline" }, ...logTicks(values) },
    }),
    CHART_OPTIONS,
  );
}

/** Show a case's checks if the view is still `current()`. */
export async function showChecks(view, current) {
  const checks = await ask(`api/checks/${encodeURIComponent(view.study)}/${view.case}`);
  if (!current()) return;
  const allSeries = seriesOf(view);
  last = [checks, allSeries];
  if (checks.length === 0) {
    document.getElementById("checks-chart").hidden = true;
    return fill("checks", quiet(NOTHING));
  }
  const { header, rows } = checkRows(checks, allSeries);
  fill(
    "checks",
    table([header, ...rows], { text: [header.length - 1], wrap: true }),
    quiet("Parentheses and bars: 95 % intervals. Cross: this ratio drifted."),
  );
  return draw(checks, allSeries);
}

export function redrawChecks() {
  return last?.[0].length ? draw(...last) : null;
}
