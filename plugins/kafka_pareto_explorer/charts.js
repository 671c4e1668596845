// Draw the page's two charts.

import { Unanswered } from "./asking.js";
import { marks, parallel, scatter } from "./chart_traces.js";

export const CHART_OPTIONS = { displayModeBar: false, responsive: true };

let last = null;
let loading = null;

export function colours() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(["ink", "line", "panel"].map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

/** Plotly, loaded at the first call after a paint, because it blocks the browser. */
export async function plotly() {
  if (!loading) {
    await new Promise((done) => {
      requestAnimationFrame(() => setTimeout(done));
    });
  }
  loading ??=
    globalThis.Plotly ??
    new Promise((done, failed) => {
      const script = document.createElement("script");
      script.src = document.getElementById("plotly").href;
      script.addEventListener("load", done);
      script.addEventListener("error", () => {
        loading = null; // the next drawing tries again
        failed(new Unanswered("The charts could not be loaded. Reload the page."));
      });
      document.head.append(script);
    });
  await loading;
  return globalThis.Plotly;
}

export async function drawCharts(state, axes, picked) {
  last = [state, axes, picked];
  const { view, choice, intervals } = state;
  const drawn = marks(view, choice, intervals);
  const library = await plotly();
  const theme = colours();
  for (const [id, [traces, layout]] of [
    ["scatter", scatter(view, drawn, { ...axes, best_id: choice.best_id }, theme)],
    ["parallel", parallel(view, drawn, theme)],
  ]) {
    const chart = document.getElementById(id);
    library.react(chart, traces, layout, CHART_OPTIONS);
    chart.removeAllListeners("plotly_click");
    chart.on("plotly_click", (event) => event.points[0]?.customdata && picked(event.points[0].customdata));
  }
  countDrawn();
}

/** Number the drawings, for whoever waits for one. */
export function countDrawn() {
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
}

export function redrawOnTheme() {
  return last ? drawCharts(...last) : null;
}
