// The form of what is needed: a slider and a number for each objective. Sliders step through the measured values, so
// that every step of the keyboard leaves out, or lets in, at least one configuration.

import { el, options, shown, unitOf } from "./dom.js";

const MAXIMISED = new Set(["throughput_mib_s"]);
const PREFERENCES = [
  ["study", "as the study does"],
  ["throughput", "most throughput"],
  ["latency", "least p95 latency"],
  ["balanced", "both, balanced"],
];

export const measuredValue = (point, objective) => (point.confirmed ?? point.design)?.values[objective] ?? null;

function steps(view, objective) {
  const values = view.points.map((point) => measuredValue(point, objective)).filter((value) => value !== null);
  // Three digits are rounded so that the value itself is let in.
  const outward = (value) => {
    const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
    const rounded = (MAXIMISED.has(objective) ? Math.floor(value / unit) : Math.ceil(value / unit)) * unit;
    return Number(rounded.toPrecision(3));
  };
  return [...new Set(values.filter((value) => value > 0).map(outward))].sort((a, b) => a - b);
}

/** Builds the form for one record size; what the address says is kept. */
export function wishForm(view, at, changed) {
  const form = document.getElementById("wishes");
  const lower = Object.entries(view.objectives).map(([objective, label]) => wish(view, objective, label, at, changed));
  const durability = el("select", { id: "durability", onchange: changed });
  options(
    durability,
    view.durabilities.map((name) => [name, name.replaceAll("_", " ")]),
    at.get("durability") ?? view.weakest_durability,
  );
  const prefer = el("select", { id: "prefer", onchange: changed });
  options(prefer, PREFERENCES, at.get("prefer") ?? "study");
  form.replaceChildren(
    ...lower,
    el("label", { class: "row" }, "Durability from", durability),
    el("label", { class: "row" }, "Then prefer", prefer),
  );
  form.onsubmit = () => false;
}

function wish(view, objective, label, at, changed) {
  const values = steps(view, objective);
  const atLeast = MAXIMISED.has(objective);
  const words = `${label} ${atLeast ? "at least" : "at most"}`;
  const free = atLeast ? 0 : values.length;
  const bound = (position) => {
    if (position === free) return "";
    return atLeast ? values[position - 1] : values[position];
  };
  const says = (value) => (value === "" ? "any" : shown(objective, Number(value)));
  const said = el("output", {}, says(at.get(objective) ?? ""));
  const number = el("input", {
    type: "number",
    min: 0,
    step: "any",
    id: objective,
    "aria-label": `${words}, typed`,
    placeholder: unitOf(objective) || "any",
    value: at.get(objective) ?? "",
  });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: values.length,
    step: 1,
    "aria-label": words,
    id: `${objective}-slider`,
    disabled: !values.length,
  });
  const place = (value) => {
    const found = atLeast
      ? values.findLastIndex((each) => each <= Number(value)) + 1
      : values.findIndex((each) => each >= Number(value));
    return value === "" ? free : found < 0 ? values.length - 1 : found;
  };
  const settle = () => {
    said.textContent = says(number.value);
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  slider.value = place(number.value);
  settle();
  slider.addEventListener("input", () => {
    number.value = bound(Number(slider.value));
    settle();
    changed();
  });
  number.addEventListener("change", () => {
    slider.value = place(number.value);
    settle();
    changed();
  });
  return el(
    "div",
    { class: "wish" },
    el("span", {}, el("label", { for: `${objective}-slider` }, words), said),
    slider,
    number,
  );
}

/** What the form says, by the names of the server's parameters. */
export function readWishes() {
  const value = (id) => document.getElementById(id).value;
  const limits = ["p95_latency_ms", "throughput_mib_s", "latency_cv", "throughput_cv"];
  const bounds = limits.map((objective) => [objective, Number(value(objective)) > 0 ? value(objective) : ""]);
  return { ...Object.fromEntries(bounds), durability: value("durability"), prefer: value("prefer") };
}
