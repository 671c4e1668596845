// The checks of what is in force as texts, and as Plotly draws them.

import { plain } from "./chart_traces.js";
import { moment } from "./format.js";

export const SERIES = {
  p95_latency_ms: { name: "p95 latency", color: "#d55e00", symbol: "circle" },
  throughput_mib_s: { name: "throughput", color: "#0072b2", symbol: "square" },
};
export const DRIFTED = { symbol: "x", size: 13 };

const changeOf = (check, objective) => check.changes.find((change) => change.objective === objective);

export function traceOf(checks, objective, series) {
  const points = checks.map((check) => [check, changeOf(check, objective)]).filter(([, change]) => change?.found);
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

/** Upright lines where another version was checked for the first time, and where a level was left. */
export function events(checks, theme) {
  const versions = checks
    .filter((check, at) => at && check.version !== checks[at - 1].version)
    .map((check) => [check.at, `version ${check.version ?? "-"}`, "dot"]);
  const changes = checks.filter((check) => check.change_point).map((check) => [check.at, "change point", "dash"]);
  const both = [...versions, ...changes];
  return {
    shapes: both.map(([x, , dash]) => ({
      type: "line",
      x0: x,
      x1: x,
      y0: 0,
      y1: 1,
      yref: "paper",
      layer: "below",
      line: { color: theme.ink, width: 1, dash },
    })),
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

/** The table of all checks, the last one first. */
export function checkRows(checks) {
  const compared = Object.values(SERIES).flatMap(({ name }) => [`${name}, in force / baseline`, "change since"]);
  const texts = (check) =>
    Object.keys(SERIES)
      .map((objective) => changeOf(check, objective))
      .flatMap((change) => [ratioText(change), changeText(change)]);
  return {
    header: ["Checked", "version", "outcome", ...compared, "why"],
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
