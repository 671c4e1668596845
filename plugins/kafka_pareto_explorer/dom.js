// Elements from data: everything that comes from a study or an artifact becomes text, never markup.

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

const FILE_WORDS = { "application.yaml": "Spring Boot YAML", "librdkafka.properties": "librdkafka" };

/** Links to the files that clients read, which the server names. */
export const fileLinks = (path, files) =>
  files.map((name) => el("a", { href: `${path}/${name}`, download: true }, FILE_WORDS[name] ?? name));

// Airflow's frame lets no other site in and opens no tab.
export const EMBEDDED = globalThis.self !== globalThis.top;

export const link = (href, text) => el("a", { href, target: EMBEDDED ? null : "_blank", rel: "noopener" }, text);

export function fill(id, ...children) {
  document.getElementById(id).replaceChildren(...children.filter((child) => child !== null));
}

// A value and its unit stay on one line.
const BEFORE_UNIT = / (?=%|ms\b|MiB\b)/gu;

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
  return sentences.length > 0
    ? el("ul", { class: "plain" }, ...sentences.map((sentence) => el("li", {}, sentence)))
    : null;
}

export function options(select, entries, chosen) {
  select.replaceChildren(
    ...entries.map(([value, label]) => el("option", { value, selected: value === chosen }, label)),
  );
}
