// Plotly traces of the two charts. Kinds of points differ in symbol and color (Okabe-Ito palette).

import { measuredValue, roleOf, settingsOf, shown } from "./values.js";

const KINDS = [
  {
    key: "design",
    name: "design and rounds",
    symbol: "circle-open",
    color: "#8a94a3",
    size: 7,
    dash: "solid",
    width: 1,
  },
  {
    key: "estimated",
    name: "estimated front",
    symbol: "diamond-open",
    color: "#cc79a7",
    size: 9,
    dash: "dot",
    width: 1,
  },
  { key: "confirmed", name: "confirmed", symbol: "square", color: "#56b4e9", size: 9, dash: "solid", width: 1.5 },
  { key: "front", name: "measured front", symbol: "triangle-up", color: "#009e73", size: 11, dash: "solid", width: 2 },
  { key: "pick", name: "pick", symbol: "star-open", color: "#e69f00", size: 14, dash: "dashdot", width: 2.5 },
  { key: "baseline", name: "baseline", symbol: "x", color: "#d55e00", size: 11, dash: "dash", width: 2.5 },
  {
    key: "in_force",
    name: "active during the campaign",
    symbol: "cross",
    color: "#0072b2",
    size: 12,
    dash: "longdash",
    width: 2.5,
  },
  { key: "recommended", name: "recommended", symbol: "star", color: "#e69f00", size: 16, dash: "solid", width: 3.5 },
];
const FADED = 0.15;
const PADDING = 0.04;
const LONGEST_ON_A_LINE = 11;
/** With more axes than this, their names would overlap. */
const MOST_LEVEL_NAMES = 10;
const LAST_BREAK = /^(?<first>.*)(?<second>[ .].*)$/u;
const FEW = 10;

function kindOf(view, point) {
  if (point.is_baseline) return "baseline";
  if (point.configuration_id === view.in_force_id) return "in_force";
  if (point.configuration_id === view.recommended_id) return "recommended";
  if (point.configuration_id === view.pick_id) return "pick";
  if (point.on_measured_front) return "front";
  return point.confirmed ? "confirmed" : "design";
}

/** Every measured configuration by its kind, and every point of the estimated front at its estimate. */
export function marks(view, choice, intervals) {
  const remaining = new Set(choice.remaining_ids);
  const measured = view.points
    .filter((point) => point.confirmed ?? point.design)
    .map((point) => ({
      point,
      kind: kindOf(view, point),
      kept: remaining.has(point.configuration_id),
      value: (objective) => measuredValue(point, objective),
      interval: (objective) =>
        intervals[point.confirmed ? "confirmed" : "design"][point.configuration_id]?.[objective] ?? null,
    }));
  const estimated = view.points
    .filter((point) => point.on_estimated_front && point.estimated)
    .map((point) => ({
      point,
      kind: "estimated",
      kept: true,
      value: (objective) => point.estimated[objective],
      interval: () => null,
    }));
  return [...measured, ...estimated];
}

// Plotly interprets a subset of HTML in texts.
export const plain = (text) => String(text).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");

function hoverText(view, mark) {
  const values = Object.entries(view.objectives).map(
    ([name, objective]) => `${objective.label} ${shown(objective, mark.value(name))}`,
  );
  const what = mark.kind === "estimated" ? "estimated" : roleOf(view, mark.point);
  return [`${mark.point.configuration_id}: ${what}`, settingsOf(mark.point), ...values].map(plain).join("<br>");
}

export const layoutOf = ({ ink, panel }, more) => ({
  paper_bgcolor: "rgba(0,0,0,0)",
  plot_bgcolor: "rgba(0,0,0,0)",
  font: { color: ink, size: 12 },
  hoverlabel: { bgcolor: panel, font: { color: ink } },
  showlegend: true,
  hovermode: "closest",
  legend: { orientation: "h", y: 1.02, yanchor: "bottom", x: 0, itemsizing: "constant" },
  ...more,
});

/** A vertical line, as high as the axis. */
export const upright = (x, line, more) => ({ type: "line", x0: x, x1: x, y0: 0, y1: 1, layer: "below", line, ...more });

/** Error bars of the remaining points only: bars cannot be faded point by point. */
function errorBars(trace, objective) {
  const around = trace.map((mark) => [mark.value(objective), mark.kept ? mark.interval(objective) : null]);
  if (!around.some(([, interval]) => interval)) return;
  return {
    type: "data",
    symmetric: false,
    thickness: 1,
    width: 2,
    array: around.map(([value, interval]) => (interval ? Math.max(interval[1] - value, 0) : 0)),
    arrayminus: around.map(([value, interval]) => (interval ? Math.max(value - interval[0], 0) : 0)),
  };
}

/** Ticks of a logarithmic axis at 1, 2 and 5; at more digits if these are fewer than four. */
export function logTicks(values) {
  const [low, high] = [Math.min(...values), Math.max(...values)];
  const decades = Array.from({ length: 24 }, (_, at) => 10 ** (at - 9));
  const ticks = (digits) =>
    decades
      .flatMap((decade) => digits.map((digit) => Number((digit * decade).toPrecision(3))))
      .filter((value) => value >= low / 1.5 && value <= high * 1.5);
  const few = ticks([1, 2, 5]);
  const tickvals = few.length >= 4 ? few : ticks([1, 1.5, 2, 3, 4, 5, 6, 7, 8, 9]);
  return { tickvals, ticktext: tickvals.map((value) => value.toLocaleString("en")) };
}

/** Traces and layout of two objectives' scatter, with a ring around the best match. */
export function scatter(view, drawn, { across, up, best_id: bestId }, theme) {
  const known = drawn.filter((mark) => mark.value(across) !== null && mark.value(up) !== null);
  const traces = KINDS.map((kind) => [kind, known.filter((mark) => mark.kind === kind.key)])
    .filter(([, trace]) => trace.length > 0)
    .map(([kind, trace]) => ({
      type: "scatter",
      mode: "markers",
      name: kind.name,
      hoverinfo: "text",
      x: trace.map((mark) => mark.value(across)),
      y: trace.map((mark) => mark.value(up)),
      error_x: errorBars(trace, across),
      error_y: errorBars(trace, up),
      text: trace.map((mark) => hoverText(view, mark)),
      customdata: trace.map((mark) => mark.point.configuration_id),
      marker: {
        symbol: kind.symbol,
        color: kind.color,
        size: kind.size,
        line: { width: 1.5, color: kind.color },
        opacity: trace.map((mark) => (mark.kept ? 1 : FADED)),
      },
    }));
  const best = known.filter((mark) => mark.kind !== "estimated" && mark.point.configuration_id === bestId);
  traces.push({
    type: "scatter",
    mode: "markers",
    name: "best match",
    hoverinfo: "skip",
    x: best.map((mark) => mark.value(across)),
    y: best.map((mark) => mark.value(up)),
    marker: { symbol: "circle-open", size: 24, color: theme.ink, line: { width: 2 } },
  });
  const axis = (name) => ({
    gridcolor: theme.line,
    zeroline: false,
    ...(view.objectives[name].logarithmic
      ? { type: "log", ...logTicks(known.map((mark) => mark.value(name)).filter((value) => value > 0)) }
      : {}),
    title: { text: [view.objectives[name].label, view.objectives[name].unit].filter(Boolean).join(", ") },
  });
  return [traces, layoutOf(theme, { margin: { l: 60, r: 12, t: 44, b: 44 }, xaxis: axis(across), yaxis: axis(up) })];
}

/** An axis of the parallel chart: a map of values to 0 to 1, and ticks. */
function axisOf(label, values, read, { levels = [], log = false, write = String }) {
  const known = values.filter((value) => value !== null && value !== undefined);
  if (levels.length > 0) {
    const at = (value) => levels.indexOf(String(value)) / Math.max(levels.length - 1, 1);
    return { label, read, at, ticks: levels.map((level) => [at(level), level]) };
  }
  const scale = (value) => (log ? Math.log(Math.max(value, Number.MIN_VALUE)) : value);
  const [low, high] = [Math.min(...known), Math.max(...known)];
  const at = (value) => (high > low ? (scale(value) - scale(low)) / (scale(high) - scale(low)) : 0.5);
  if (high > low) return { label, read, at, ticks: [low, high].map((value) => [at(value), write(value)]) };
  return { label, read, at, ticks: known.length > 0 ? [[0.5, write(low)]] : [] };
}

/** Break a name that would overlap its neighbor's into two lines. */
function broken(name) {
  const { first, second } = (name.length > LONGEST_ON_A_LINE && LAST_BREAK.exec(name)?.groups) || {};
  return first ? `${plain(first)}<br>${plain(second.trim())}` : plain(name);
}

/** The axes of the parallel chart: every objective and factor with a known value. */
function axesOf(view, drawn) {
  const objectives = Object.entries(view.objectives).map(([name, objective]) => {
    const values = drawn.map((mark) => mark.value(name));
    const log = objective.logarithmic && values.every((value) => value === null || value > 0);
    const write = (value) => shown(objective, value);
    return axisOf(objective.label, values, (mark) => mark.value(name), { log, write });
  });
  const factors = view.axes.map((factor) => {
    const values = drawn.map((mark) => mark.point.factors[factor.name]);
    // Up to ten distinct numbers are shown as levels: they are usually powers of two.
    const distinct = [...new Set(values)].sort((a, b) => a - b).map(String);
    const few = distinct.length <= FEW ? distinct : [];
    const levels = factor.levels.length > 0 ? factor.levels : few;
    return axisOf(factor.name, values, (mark) => mark.point.factors[factor.name], {
      levels,
      log: factor.log_scale,
      write: (value) => value.toLocaleString("en"),
    });
  });
  return [...objectives, ...factors].filter((axis) => axis.ticks.length > 0);
}

/** The lines of one kind along all axes, either the remaining ones (`kept`) or the others. */
function linesOf(view, drawn, axes, [kind, kept]) {
  const ofKind = drawn.filter((mark) => mark.kind === kind.key);
  const lines = ofKind.filter((mark) => mark.kept === kept);
  const along = (value) => lines.flatMap((mark) => [...axes.map((axis, at) => value({ mark, axis, at })), null]);
  const place = ({ mark, axis }) => {
    const read = axis.read(mark);
    return read === null || read === undefined ? null : axis.at(read);
  };
  return {
    type: "scatter",
    mode: "lines+markers",
    name: kind.name,
    legendgroup: kind.key,
    showlegend: kept || !ofKind.some((mark) => mark.kept),
    x: along(({ at }) => at),
    y: along(place),
    hoverinfo: "text",
    connectgaps: false,
    text: along(({ mark }) => hoverText(view, mark)),
    customdata: along(({ mark }) => mark.point.configuration_id),
    opacity: kept ? 1 : FADED,
    line: { color: kind.color, width: kind.width, dash: kind.dash },
    marker: { symbol: kind.symbol, color: kind.color, size: kind.size * 0.6 },
  };
}

/** Traces and layout of the parallel coordinates of objectives and factors. */
export function parallel(view, drawn, theme) {
  const axes = axesOf(view, drawn);
  const traces = KINDS.flatMap((kind) => [true, false].map((kept) => linesOf(view, drawn, axes, [kind, kept]))).filter(
    (trace) => trace.x.length > 0,
  );
  const isCrowded = axes.length > MOST_LEVEL_NAMES;
  const named = isCrowded ? { textangle: 30, xanchor: "left" } : {};
  const written = axes.flatMap((axis, at) => [
    {
      x: at,
      y: -0.05,
      text: isCrowded ? plain(axis.label) : broken(axis.label),
      showarrow: false,
      yanchor: "top",
      font: { weight: 600 },
      ...named,
    },
    ...axis.ticks.map(([y, text]) => ({
      x: at,
      y,
      text: plain(isCrowded ? text.split(" ")[0] : text), // a unit would overlap the next axis
      showarrow: false,
      xanchor: "left",
      xshift: 6,
      font: { size: 11 },
      bgcolor: theme.panel,
      opacity: 0.85,
    })),
  ]);
  return [
    traces,
    layoutOf(theme, {
      margin: isCrowded ? { l: 24, r: 110, t: 40, b: 100 } : { l: 24, r: 60, t: 40, b: 40 },
      shapes: axes.map((_, at) => upright(at, { color: theme.line, width: 1 })),
      annotations: written,
      xaxis: { visible: false, range: [-0.15, axes.length - 0.5 + PADDING], fixedrange: true },
      yaxis: { visible: false, range: [-0.14, 1 + PADDING], fixedrange: true },
    }),
  ];
}
