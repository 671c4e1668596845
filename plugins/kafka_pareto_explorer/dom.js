// Build elements: data from studies and artifacts becomes text, never markup.

export function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    const given = value !== null && value !== undefined && value !== false;
    if (given && name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (given) made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

export const quiet = (...children) => el("p", { class: "quiet" }, ...children);

export const button = (text, onclick, attributes) => el("button", { type: "button", onclick, ...attributes }, text);

export const download = (href, text) => el("a", { href, download: true }, text);

const FILE_WORDS = { "application.yaml": "Spring Boot YAML", "librdkafka.properties": "librdkafka" };

export const fileLinks = (path, files) => files.map((name) => download(`${path}/${name}`, FILE_WORDS[name] ?? name));

// Airflow's frame blocks other sites and new tabs.
export const EMBEDDED = globalThis.self !== globalThis.top;

export const link = (href, text) => el("a", { href, target: EMBEDDED ? null : "_blank", rel: "noopener" }, text);

/** Links to the sibling page, to doctor and audit and, unless embedded in Airflow, to Airflow. */
export const siteLinks = (href, text) => [
  el("a", { href }, text),
  el("a", { href: "doctor" }, "Doctor"),
  el("a", { href: "audit" }, "Audit"),
  EMBEDDED ? null : el("a", { href: "../" }, "Airflow"),
];

export function fill(id, ...children) {
  document.getElementById(id).replaceChildren(...children.filter((child) => child !== null));
}

// Keep a value and its unit on one line.
const BEFORE_UNIT = / (?=%|ms\b|MiB\b)/gu;

/** A table of texts: a header, then rows, each headed by its first cell; columns in `text` wrap, or all with `wrap`. */
export function table(rows, { chosen = -1, text = [], wrap = false } = {}) {
  const [header, ...body] = rows;
  const kind = (column) => (text.includes(column) ? "text" : null);
  const head = (name, column) => el("th", { scope: "col", class: kind(column) }, name);
  const cell = (value, column) => {
    const scope = column === 0 ? "row" : null;
    return el(scope ? "th" : "td", { scope, class: kind(column) }, String(value).replace(BEFORE_UNIT, "\u00a0"));
  };
  const heads = el("thead", {}, el("tr", {}, ...header.map(head)));
  const lines = body.map((row, at) => el("tr", { class: at === chosen ? "chosen" : null }, ...row.map(cell)));
  return el("div", { class: "scroll" }, el("table", { class: wrap ? "wrap" : null }, heads, el("tbody", {}, ...lines)));
}

export const list = (sentences) =>
  sentences.length > 0 ? el("ul", { class: "plain" }, ...sentences.map((sentence) => el("li", {}, sentence))) : null;

export function options(select, entries, chosen) {
  select.replaceChildren(
    ...entries.map(([value, label]) => el("option", { value, selected: value === chosen }, label)),
  );
}
