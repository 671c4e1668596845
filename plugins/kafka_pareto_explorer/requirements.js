// The requirements form: a slider and a number for each objective. A slider's steps are the measured values: each
// keyboard step excludes or includes at least one configuration. One end means no limit.

import { el, options, quiet } from "./dom.js";
import { measuredValue, shown } from "./values.js";

const PREFERENCES = [
  ["study", "the study's preference"],
  ["throughput", "highest throughput"],
  ["latency", "lowest p95 latency"],
  ["balanced", "a balance"],
];

/** Build the form for one case, with the values from the address. */
export function requirementsForm(view, asked, changed) {
  const form = document.getElementById("requirements");
  const lower = Object.entries(view.objectives).map((each) => requirement(view, each, asked, changed));
  const durability = el("select", { id: "durability", onchange: changed });
  options(
    durability,
    view.durabilities.map((name) => [name, name.replaceAll("_", " ")]),
    asked("durability") ?? view.weakest_durability,
  );
  const prefer = el("select", { id: "prefer", onchange: changed });
  options(prefer, PREFERENCES, asked("prefer") ?? "study");
  form.replaceChildren(
    ...lower,
    view.durabilities.length > 0 ? el("label", { class: "row" }, "Minimum durability", durability) : "",
    el("label", { class: "row" }, "Prefer", prefer),
    rulesOf(view),
  );
  form.onsubmit = () => false;
}

function rulesOf(view) {
  const rules = [...view.rules, ...view.limits];
  return quiet(rules.length > 0 ? `Study rules: ${rules.join("; ")}.` : "");
}

function requirement(view, [objective, about], asked, changed) {
  const atLeast = about.maximised;
  const steps = stepsOf(view.points, objective, atLeast);
  const words = `${about.label} ${atLeast ? "at least" : "at most"}`;
  const says = (value) => (value === "" ? "any" : shown(about, Number(value)));
  const said = el("output");
  const number = el("input", {
    type: "number",
    min: 0,
    step: "any",
    id: objective,
    "aria-label": `${words}, typed`,
    placeholder: about.unit || "any",
    value: limitOf(asked(objective)),
  });
  const slider = el("input", {
    type: "range",
    min: 0,
    max: steps.length,
    step: 1,
    "aria-label": words,
    id: `${objective}-slider`,
    disabled: steps.length === 0,
  });
  const settle = () => {
    said.textContent = says(number.value);
    slider.setAttribute("aria-valuetext", said.textContent);
  };
  slider.value = positionOf(steps, atLeast, number.value);
  settle();
  slider.addEventListener("input", () => {
    number.value = boundAt(steps, atLeast, Number(slider.value));
    settle();
    changed();
  });
  number.addEventListener("change", () => {
    number.value = limitOf(number.value);
    slider.value = positionOf(steps, atLeast, number.value);
    settle();
    changed();
  });
  return el(
    "div",
    { class: "requirement" },
    el("span", {}, el("label", { for: `${objective}-slider` }, words), said),
    slider,
    number,
  );
}

/** The text of a limit; empty unless it is above zero. */
export const limitOf = (text) => (Number(text) > 0 ? text : "");

/** The form's values by server parameter. */
export function readRequirements() {
  const value = (id) => document.getElementById(id)?.value ?? "";
  const limits = document.querySelectorAll("#requirements input[type=number]");
  const bounds = Array.from(limits, (limit) => [limit.id, limitOf(limit.value)]);
  return { ...Object.fromEntries(bounds), durability: value("durability"), prefer: value("prefer") };
}

/** Round to three digits, outward: the value itself still passes. */
function outward(value, atLeast) {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return Number(((atLeast ? Math.floor(value / unit) : Math.ceil(value / unit)) * unit).toPrecision(3));
}

/** The slider's bounds, ascending. */
export function stepsOf(points, objective, atLeast) {
  const values = points.map((point) => measuredValue(point, objective)).filter((value) => value !== null && value > 0);
  return [...new Set(values.map((value) => outward(value, atLeast)))].sort((a, b) => a - b);
}

/** The bound at a slider position; empty for no limit. */
export function boundAt(steps, atLeast, position) {
  if (position === (atLeast ? 0 : steps.length)) return "";
  return atLeast ? steps[position - 1] : steps[position];
}

/** The slider position for a typed bound. */
export function positionOf(steps, atLeast, bound) {
  if (bound === "") return atLeast ? 0 : steps.length;
  if (atLeast) return steps.findLastIndex((step) => step <= Number(bound)) + 1;
  const found = steps.findIndex((step) => step >= Number(bound));
  return found < 0 ? steps.length - 1 : found;
}
