// The page's texts and tables.

import { runAddress } from "./asking.js";
import { download, EMBEDDED, el, fileLinks, fill, link, list, quiet, siteLinks, table } from "./dom.js";
import { ago, counted, duration, measuredOf, measuredValue, pointOf, roleOf, settingsOf, shown } from "./values.js";

const STANDING = {
  queued: "Queued in Airflow",
  running: "Running",
  failed: "Stopped: the Airflow run failed",
  success: "Ended without a report: the Airflow run is over",
};

export function priorText({ campaigns }) {
  const used = campaigns.filter((each) => each.trials);
  const days = (each) => Math.min(...Object.values(each.age_days)).toFixed(1);
  const named = used.map((each) => `${each.campaign} (${counted(each.trials, "trial")}, ${days(each)} days old)`);
  const left = campaigns.length - used.length;
  const began = named.length > 0 ? `the search started from ${named.join(", ")}` : "no earlier campaign could be used";
  return `Warm start: ${began}${left ? `; no usable trials in ${counted(left, "more campaign")}` : ""}. All numbers below are from this campaign.`;
}

/** Progress of an unfinished campaign; `run` is its Airflow run, if any. */
export function progressText(report, run) {
  const done = report.steps.filter((step) => step.state === "done").length;
  const left = run?.state === "running" && report.time_left !== null ? `, ${timeLeftText(report.time_left)}` : "";
  const standing = run ? (STANDING[run.state] ?? run.state) : "Not finished";
  return `${standing}: ${done} of ${report.steps.length} steps, ${countText(report)}${left}; last update ${ago(report.last_written_at)}. `;
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

/** A step with its mark and repetitions; it is marked as active only while its run is (`running`). */
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

const rulesText = (point) => (point.rules_broken.length > 0 ? `violates ${point.rules_broken.join(", ")}` : "all met");

export function comparison(view, left, right) {
  const sides = [left, right];
  const differs = (ours, theirs) => (ours === theirs ? "" : "differs");
  return [
    ["", left.configuration_id, right.configuration_id, "left vs. right"],
    ["role", roleOf(view, left), roleOf(view, right), ""],
    ...Object.keys(left.factors).map((name) => {
      const [ours, theirs] = sides.map((point) => point.factors[name]);
      return [name, ours, theirs, differs(ours, theirs)];
    }),
    ...(view.durabilities.length > 0
      ? [["durability", left.durability, right.durability, differs(left.durability, right.durability)]]
      : []),
    ...Object.entries(view.objectives).map(([name, objective]) => {
      const [ours, theirs] = sides.map((point) => measuredOf(point).values[name]);
      return [objective.label, shown(objective, ours), shown(objective, theirs), changeText(theirs, ours)];
    }),
    ["study rules", ...sides.map(rulesText), ""],
    ["measured in", ...sides.map((point) => (point.confirmed ? "choice blocks" : `round ${point.round ?? 0}`)), ""],
    ["repetitions", ...sides.map((point) => measuredOf(point).repetitions), ""],
  ];
}

/** Estimated and measured values of the confirmed configurations, else of the estimated front. */
export function estimateRows(view, choice) {
  const confirmed = view.points.filter((point) => point.confirmed);
  const points = confirmed.length > 0 ? confirmed : view.points.filter((point) => point.on_estimated_front);
  const objectives = Object.entries(view.objectives);
  const pair = (point, [name, objective]) =>
    `${shown(objective, point.estimated?.[name])} → ${shown(objective, measuredValue(point, name))}`;
  return {
    header: ["Configuration", "role", ...objectives.map(([, { label }]) => label), "settings"],
    rows: points.map((point) => [
      point.configuration_id,
      [
        roleOf(view, point),
        ...point.chosen_as,
        ...point.advised_by.map((who) => `advised by ${who}`),
        ...point.rules_broken.map((rule) => `violates ${rule}`),
      ].join("; "),
      ...objectives.map((objective) => pair(point, objective)),
      settingsOf(point),
    ]),
    chosen: points.findIndex((point) => point.configuration_id === choice.best_id),
  };
}

/** Explains the scatter's error bars, and how many points of the estimated front are shown if not all. */
export function intervalNote(view) {
  const shownPoints = view.points.filter((point) => point.on_estimated_front).length;
  const all = view.estimated_front_points;
  const thinned = shownPoints < all ? `; ${shownPoints} of ${all} points of the estimated front` : "";
  return `bars: 95 % intervals of means with at least 2 repetitions${thinned}`;
}

export function links(overview, path) {
  const artifact = (name, text) => link(`${path}/artifacts/${name}`, text);
  const rounds = overview.data_docs.map((name, at) => artifact(name, at ? `Data Docs, round ${at}` : "Data Docs"));
  const tracked = overview.tracked && !EMBEDDED ? link(`${path}/mlflow`, "MLflow") : null;
  const alone = EMBEDDED
    ? el(
        "span",
        { class: "quiet" },
        "For MLflow, open the explorer in a separate tab: ",
        el("code", {}, location.href.split("#")[0]),
      )
    : null;
  const report = overview.report ? artifact(overview.report, "Report") : null;
  fill("links", report, ...rounds, tracked, alone, ...siteLinks("comparisons", "Comparisons"));
}

export function prior(found) {
  const place = document.getElementById("prior");
  place.hidden = !found;
  if (found) place.textContent = priorText(found);
}

/** Link to a pending approval; hidden if `question` is null. */
export function approval(question) {
  const place = document.getElementById("approval");
  place.hidden = !question;
  if (question === place.querySelector("a")?.getAttribute("href")) return;
  if (question)
    fill(
      "approval",
      "This campaign's recommendation is waiting for approval: ",
      link(question, "approve or reject it in Airflow"),
      ".",
    );
}

export function progress(report, run, dag) {
  const panel = document.getElementById("progress");
  panel.hidden = report.finished;
  if (report.finished) return;
  const likely = report.repetitions_likely;
  const running = run?.state === "running";
  const steps = report.steps.map((step) =>
    el("li", { class: step.state === "waiting" ? "quiet" : null }, stepText(step, running)),
  );
  fill(
    "progress",
    el("p", {}, progressText(report, run), run && link(runAddress(run), "Airflow run")),
    run?.state === "failed"
      ? quiet(`All measurements are stored. To resume, clear the failed task or trigger ${dag} with this campaign.`)
      : null,
    el("progress", {
      max: likely ?? 1,
      value: likely === null && running ? null : report.repetitions,
      "aria-label": "Repetitions",
    }),
    el("ul", { class: "steps" }, ...steps),
  );
}

export function best(view, choice, path) {
  const point = pointOf(view, choice.best_id);
  const reasons = list(choice.reasons);
  if (!point) return fill("best", el("p", { class: "name" }, "No configuration meets these requirements."), reasons);
  const measured = measuredOf(point);
  const values = Object.entries(view.objectives).map(([name, objective]) => [
    objective.label,
    shown(objective, measured.values[name]),
  ]);
  const durability = view.durabilities.length > 0 ? [["durability", point.durability.replaceAll("_", " ")]] : [];
  const settings = Object.entries(point.factors).map(([name, value]) => [name, String(value)]);
  return fill(
    "best",
    el("p", { class: "name" }, point.configuration_id, ` (${roleOf(view, point)})`),
    reasons,
    table([["Setting", "value"], ...settings, ...durability]),
    table([["Measured", counted(measured.repetitions, "repetition")], ...values]),
    el(
      "div",
      { class: "downloads" },
      "Downloads:",
      ...fileLinks(`${path}/${point.configuration_id}`, view.files),
      download(`${path}/trials.csv`, "all trials (CSV)"),
    ),
    el("div", { id: "activate-best" }),
  );
}

export function compare(view, leftId, rightId) {
  const sides = [pointOf(view, leftId), pointOf(view, rightId)];
  if (sides.includes(undefined)) return fill("compare");
  return fill(
    "compare",
    table(comparison(view, ...sides), { wrap: true }),
    quiet("Plain differences of the measured values. For gains with intervals, see the decision."),
    el("div", { id: "activate-left" }),
  );
}

export function estimates(view, choice) {
  const { header, rows, chosen } = estimateRows(view, choice);
  if (rows.length === 0) return fill("estimates", quiet("No estimates or confirmations yet."));
  const note = quiet("Estimated → measured (choice blocks). Bold: the best match.");
  return fill("estimates", table([header, ...rows], { chosen, text: [1, header.length - 1] }), note);
}

/** The card's decision, latency breakdown and noise floor. */
export function evidence(view) {
  const { card } = view;
  const problems = list(view.problems);
  const stopped = problems && el("div", { class: "warning" }, "The validation gate stopped this campaign:", problems);
  if (card) {
    const sentences = (title, texts) => (texts.length > 0 ? el("div", {}, el("h3", {}, title), list(texts)) : null);
    fill(
      "card",
      stopped,
      el("p", { class: "headline" }, card.headline),
      card.holds_for ? quiet(`For ${card.holds_for}.`) : null,
      view.awaits_report ? quiet("The report will add the protocol and the baseline's stability.") : null,
      list(view.reasons),
      ...card.warnings.map((text) => el("p", { class: "warning" }, `Warning: ${text}`)),
      card.gains.length > 0 ? table(card.gains, { wrap: true }) : null,
      card.gains_over_baseline.length > 0 ? table(card.gains_over_baseline, { wrap: true }) : null,
      table(card.settings),
      sentences("Advice", card.advice),
      sentences(card.price_label, card.price),
      sentences("Unresolved", card.unresolved),
      ...Object.entries(card.context)
        .filter(([title]) => title !== "Noise")
        .map(([title, texts]) => sentences(title, texts)),
      sentences("Notes", card.notes),
      quiet(`Evidence: ${card.evidence}`),
    );
  } else {
    fill("card", stopped, quiet("No decision yet: candidates are confirmed after the last round."));
  }
  if (card?.breakdown.length) fill("latency", table(card.breakdown, { wrap: true }), list(card.explanation));
  else fill("latency", quiet("Shown once the report is written, if client metrics were recorded."));
  if (view.noise_table.length > 0) fill("noise", table(view.noise_table), list(view.noise_sentences));
  else fill("noise", quiet("No A/A test in this campaign."));
}
