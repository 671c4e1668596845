// Numbers, times and units in words, as the cards write them.

import { unitOf } from "./objectives.js";

/** An objective's value with its unit, as the cards write it. */
export function shown(objective, value) {
  if (value === null || value === undefined) return "-";
  if (objective.endsWith("_cv")) return value.toFixed(3);
  const digits = value >= 1000 ? 0 : 1;
  const text = value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits });
  return `${text} ${unitOf(objective)}`.trim();
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
  return seconds < 48 * 3600 ? `${duration(seconds)} ago` : `${Math.round(seconds / 86_400)} days ago`;
}
