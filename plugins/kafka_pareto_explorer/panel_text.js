// What the panels say, as texts and rows of texts.

import { measuredOf, measuredValue, roleOf, settingsOf } from "./configurations.js";
import { ago, counted, duration, shown } from "./format.js";

const STANDING = {
  queued: "Waiting in Airflow",
  running: "Running",
  failed: "Stopped, its run in Airflow has failed",
  success: "Ended without a report, its run in Airflow is over",
};

/** What a warm start has brought along, in a line. */
export function priorText(prior) {
  const used = prior.campaigns.filter((each) => each.trials);
  const days = (each) => Math.min(...Object.values(each.age_days)).toFixed(1);
  const named = used.map((each) => `${each.campaign} (${counted(each.trials, "trial")}, ${days(each)} days old)`);
  const left = prior.campaigns.length - used.length;
  const began =
    named.length > 0
      ? `the search began with what it knew from ${named.join(", ")}`
      : "no earlier campaign could be used";
  return `Warm start: ${began}${left ? `; ${left} more gave nothing` : ""}. No number below is theirs.`;
}

/** How far an unfinished campaign is; `run` is Airflow's of it, where there is one. */
export function progressText(report, run) {
  const done = report.steps.filter((step) => step.state === "done").length;
  const left = run?.state === "running" && report.time_left !== null ? `, ${timeLeftText(report.time_left)}` : "";
  const standing = run ? (STANDING[run.state] ?? run.state) : "Not finished";
  return `${standing}: ${done} of ${report.steps.length} steps, ${countText(report)}${left}; last written ${ago(report.last_written_at)}. `;
}

function countText({ repetitions, repetitions_likely: likely, repetitions_most: most }) {
  if (likely === null || repetitions >= likely) return counted(repetitions, "repetition");
  return likely === most
    ? `${repetitions} of ${most} repetitions`
    : `${repetitions} of about ${likely} repetitions (at most ${most})`;
}

const timeLeftText = (left) =>
  left.likely_s < 60
    ? "less than a minute left"
    : `about ${duration(left.likely_s)} left (${duration(left.low_s)} to ${duration(left.high_s)})`;

/** A step with its mark and its repetitions; one that is under way goes on only while its run does (`running`). */
export function stepText(step, running) {
  const marks = { done: "✓", "under way": running ? "▶" : "…", waiting: "·" };
  const count = step.repetitions === null ? "" : ` ${step.repetitions}/${step.repetitions_most ?? "?"}`;
  return `${marks[step.state]} ${step.name}${count}`;
}

function changeText(from, to) {
  if (!from || to === null) return "-";
  const percent = (to / from - 1) * 100;
  return `${percent > 0 ? "+" : ""}${percent.toFixed(Math.abs(percent) < 100 ? 1 : 0)} %`;
}

const rulesText = (point) => (point.rules_broken.length > 0 ? `breaks ${point.rules_broken.join(", ")}` : "keeps all");

/** Rows of two measured configurations beside each other. */
export function comparison(view, left, right) {
  const sides = [left, right];
  const differs = (ours, theirs) => (ours === theirs ? "" : "differs");
  return [
    ["", left.configuration_id, right.configuration_id, "left over right"],
    ["is", roleOf(view, left), roleOf(view, right), ""],
    ...Object.keys(left.factors).map((name) => {
      const [ours, theirs] = sides.map((point) => point.factors[name]);
      return [name, ours, theirs, differs(ours, theirs)];
    }),
    ...(view.durabilities.length > 0
      ? [["durability", left.durability, right.durability, differs(left.durability, right.durability)]]
      : []),
    ...Object.entries(view.objectives).map(([objective, words]) => {
      const [ours, theirs] = sides.map((point) => measuredOf(point).values[objective]);
      return [words, shown(objective, ours), shown(objective, theirs), changeText(theirs, ours)];
    }),
    ["the study's rules", ...sides.map(rulesText), ""],
    ["measured in", ...sides.map((point) => (point.confirmed ? "choice blocks" : `round ${point.round ?? 0}`)), ""],
    ["repetitions", ...sides.map((point) => measuredOf(point).repetitions), ""],
  ];
}

/** Rows of what was estimated and measured, of the confirmed ones or else of the estimated front; empty without any. */
export function estimateRows(view, choice) {
  const confirmed = view.points.filter((point) => point.confirmed);
  const points = confirmed.length > 0 ? confirmed : view.points.filter((point) => point.on_estimated_front);
  const pair = (point, objective) =>
    `${shown(objective, point.estimated?.[objective])} → ${shown(objective, measuredValue(point, objective))}`;
  return {
    header: ["Configuration", "is", ...Object.values(view.objectives), "settings"],
    rows: points.map((point) => [
      point.configuration_id,
      [
        roleOf(view, point),
        ...point.chosen_as,
        ...point.advised_by.map((who) => `advised by ${who}`),
        ...point.rules_broken.map((rule) => `breaks ${rule}`),
      ].join("; "),
      ...Object.keys(view.objectives).map((objective) => pair(point, objective)),
      settingsOf(point),
    ]),
    chosen: points.findIndex((point) => point.configuration_id === choice.best_id),
  };
}

/** What the bars of the scatter are, and how many points of the estimated front are shown where not all are. */
export function intervalNote(view) {
  const shownPoints = view.points.filter((point) => point.on_estimated_front).length;
  const all = view.estimated_front_points;
  const thinned = shownPoints < all ? `; ${shownPoints} of ${all} points of the estimated front` : "";
  return `bars: 95 % intervals of means, where measured twice or more${thinned}`;
}
