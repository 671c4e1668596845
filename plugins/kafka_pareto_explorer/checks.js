// The checks of what is in force, as a time series: how it compares with the baseline, measured beside it each time.

import { ask } from "./asking.js";
import { layoutOf, logTicks } from "./chart_traces.js";
import { colours, plotly } from "./charts.js";
import { checkRows, DRIFTED, events, SERIES, traceOf } from "./check_series.js";
import { el, fill, table } from "./dom.js";

const NOTHING =
  "Nothing was checked yet. The DAG retune_producer measures what is in force beside the baseline, and tells whether it still holds.";

let last = null;

async function draw(checks) {
  const chart = document.getElementById("checks-chart");
  const traces = Object.entries(SERIES).map(([objective, series]) => traceOf(checks, objective, series));
  const values = traces.flatMap((trace) => trace.y);
  chart.hidden = values.length === 0;
  if (values.length === 0) return;
  const theme = colours();
  traces.push({
    type: "scatter",
    mode: "markers",
    x: [null],
    y: [null],
    name: "this ratio drifted",
    marker: { ...DRIFTED, color: theme.ink },
  });
  (await plotly()).react(
    chart,
    traces,
    layoutOf(theme, {
      margin: { l: 60, r: 20, t: 30, b: 40 },
      ...events(checks, theme),
      xaxis: { gridcolor: theme.line, type: "date" },
      yaxis: { gridcolor: theme.line, type: "log", title: { text: "in force / baseline" }, ...logTicks(values) },
    }),
    { displayModeBar: false, responsive: true },
  );
}

/** Shows the checks of a record size, unless another one is looked at (`current`) once they are there. */
export async function showChecks(study, size, current) {
  const checks = await ask(`api/checks/${encodeURIComponent(study)}/${size}`);
  if (!current()) return;
  last = checks;
  if (checks.length === 0) {
    document.getElementById("checks-chart").hidden = true;
    return fill("checks", el("p", { class: "quiet" }, NOTHING));
  }
  const { header, rows } = checkRows(checks);
  fill(
    "checks",
    table([header, ...rows], { text: [header.length - 1], wrap: true }),
    el("p", { class: "quiet" }, "In brackets, and as bars: 95 % intervals. A cross: this ratio drifted."),
  );
  return draw(checks);
}

export function redrawChecks() {
  if (last?.length) draw(last);
}
