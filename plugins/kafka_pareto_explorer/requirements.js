// The form of what is needed: a slider and a number for each objective.

import { el, options } from "./dom.js";
import { shown } from "./format.js";
import { isMaximised, unitOf } from "./objectives.js";
import { boundAt, positionOf, stepsOf } from "./slider.js";

const PREFERENCES = [
  ["study", "as the study does"],
  ["throughput", "most throughput"],
  ["latency", "least p95 latency"],
  ["balanced", "both, balanced"],
];

/** Builds the form for one record size; what the address says is kept. */
export function requirementsForm(view, at, changed) {
  const form = document.getElementById("requirements");
  const lower = Object.entries(view.objectives).map((each) => requirement(view, each, at, changed));
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
    view.durabilities.length > 0 ? el("label", { class: "row" }, "Durability from", durability) : "",
    el("label", { class: "row" }, "Then prefer", prefer),
    rulesOf(view),
  );
  form.onsubmit = () => false;
}

/** What the study asks of every configuration, whatever is needed here. */
function rulesOf(view) {
  const rules = [...view.rules, ...view.limits];
  return el("p", { class: "quiet" }, rules.length > 0 ? `The study's rules: ${rules.join("; ")}.` : "");
}

function requirement(view, [objective, label], at, changed) {
  const steps = stepsOf(view.points, objective);
  const atLeast = isMaximised(objective);
  const words = `${label} ${atLeast ? "at least" : "at most"}`;
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

/** What the form says, by the names of the server's parameters. */
export function readRequirements() {
  const value = (id) => document.getElementById(id)?.value ?? "";
  const limits = document.querySelectorAll("#requirements input[type=number]");
  const bounds = Array.from(limits, (limit) => [limit.id, Number(limit.value) > 0 ? limit.value : ""]);
  return { ...Object.fromEntries(bounds), durability: value("durability"), prefer: value("prefer") };
}
