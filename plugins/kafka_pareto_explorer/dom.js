// Elements from data: everything that comes from a study or an artifact becomes text, never markup.

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

/** The files that producers read, as the server names them. */
export const FORMS = [
  ["producer.properties", "producer.properties"],
  ["application.yaml", "Spring Boot YAML"],
  ["librdkafka.properties", "librdkafka"],
];

// Airflow's frame lets no other site in and opens no tab.
export const EMBEDDED = window.self !== window.top;

export const link = (href, text) => el("a", { href, target: EMBEDDED ? null : "_blank", rel: "noopener" }, text);

export function fill(id, ...children) {
  document.getElementById(id).replaceChildren(...children.filter((child) => child !== null));
}

// A value and its unit stay on one line.
const BEFORE_UNIT = / (?=%|ms\b|MiB\b)/g;

/** A table from rows of texts, the first one its header; columns of `text` wrap, or where `wrap` says so all of them. */
export function table(rows, { chosen = -1, text = [], wrap = false } = {}) {
  const [header, ...body] = rows;
  const kind = (column) => (text.includes(column) ? "text" : null);
  const cell = (value, column) => el("td", { class: kind(column) }, String(value).replace(BEFORE_UNIT, "\u00a0"));
  return el(
    "div",
    { class: "scroll" },
    el(
      "table",
      { class: wrap ? "wrap" : null },
      el(
        "thead",
        {},
        el("tr", {}, ...header.map((name, column) => el("th", { scope: "col", class: kind(column) }, name))),
      ),
      el("tbody", {}, ...body.map((row, at) => el("tr", { class: at === chosen ? "chosen" : null }, ...row.map(cell)))),
    ),
  );
}

export function list(sentences) {
  return sentences.length ? el("ul", { class: "plain" }, ...sentences.map((sentence) => el("li", {}, sentence))) : null;
}

export function options(select, entries, chosen) {
  select.replaceChildren(
    ...entries.map(([value, label]) => el("option", { value, selected: value === chosen }, label)),
  );
}

const UNITS = { p95_latency_ms: " ms", throughput_mib_s: " MiB/s" };

export function unitOf(objective) {
  return (UNITS[objective] ?? "").trim();
}

/** An objective's value with its unit, as the cards write it. */
export function shown(objective, value) {
  if (value === null || value === undefined) return "-";
  if (objective.endsWith("_cv")) return value.toFixed(3);
  return (
    value.toLocaleString("en", {
      maximumFractionDigits: value >= 1000 ? 0 : 1,
      minimumFractionDigits: value >= 1000 ? 0 : 1,
    }) + UNITS[objective]
  );
}

/** So many of something whose plural ends in -s. */
export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (minutes < 1) return "under a minute";
  return minutes < 90 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

export const moment = (iso) => new Date(iso).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

/** How long ago something was, in words. */
export function ago(iso) {
  const seconds = Math.max((Date.now() - new Date(iso)) / 1000, 0);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  return seconds < 48 * 3600 ? `${duration(seconds)} ago` : `${Math.round(seconds / 86400)} days ago`;
}
