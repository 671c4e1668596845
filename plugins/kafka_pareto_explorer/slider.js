// The steps of an objective's slider. They are the measured values, so that every step of the keyboard leaves out, or
// lets in, at least one configuration; at one end the slider asks for nothing.

import { measuredValue } from "./configurations.js";
import { isMaximised } from "./objectives.js";

/** Rounds to three digits, so that the value itself is let in. */
function outward(value, atLeast) {
  const unit = 10 ** (Math.floor(Math.log10(value)) - 2);
  return Number(((atLeast ? Math.floor(value / unit) : Math.ceil(value / unit)) * unit).toPrecision(3));
}

/** The bounds to step through, ascending. */
export function stepsOf(points, objective) {
  const values = points.map((point) => measuredValue(point, objective)).filter((value) => value !== null && value > 0);
  const atLeast = isMaximised(objective);
  return [...new Set(values.map((value) => outward(value, atLeast)))].sort((a, b) => a - b);
}

/** The bound at a position of the slider; empty where it asks for nothing. */
export function boundAt(steps, atLeast, position) {
  if (position === (atLeast ? 0 : steps.length)) return "";
  return atLeast ? steps[position - 1] : steps[position];
}

/** The slider's position for a bound that was typed. */
export function positionOf(steps, atLeast, bound) {
  if (bound === "") return atLeast ? 0 : steps.length;
  if (atLeast) return steps.findLastIndex((step) => step <= Number(bound)) + 1;
  const found = steps.findIndex((step) => step >= Number(bound));
  return found < 0 ? steps.length - 1 : found;
}
