// The parts of the page that are text and tables.

import { runAddress } from "./asking.js";
import { ago, counted, duration, el, EMBEDDED, fill, FORMS, link, list, shown, table } from "./dom.js";

export const pointOf = (view, id) => view.points.find((point) => point.configuration_id === id);

/** What a configuration is, in a word or two. */
export function roleOf(view, point) {
  if (point.is_baseline) return point.configuration_id === view.recommended_id ? "baseline, stays" : "baseline";
  if (point.configuration_id === view.recommended_id) return "recommended";
  if (point.configuration_id === view.pick_id) return "pick";
  if (point.confirmed) return point.on_measured_front ? "confirmed, on the measured front" : "confirmed";
  return point.design ? `round ${point.round ?? 0}` : "estimated only";
}

export function settingsOf(point) {
  return Object.entries(point.factors).map(([name, value]) => `${name}=${value}`).join(", ");
}

export const label = (view, point) => `${point.configuration_id} (${roleOf(view, point)}): ${settingsOf(point)}`;

export function links(overview, path) {
  const artifact = (name, text) => link(`${path}/artifacts/${name}`, text);
  const rounds = overview.data_docs.map((name, at) => artifact(name, at ? `Data Docs, round ${at}` : "Data Docs"));
  const tracked = overview.tracked && !EMBEDDED ? link(`${path}/mlflow`, "MLflow") : null;
  const alone = EMBEDDED ? el("span", { class: "quiet" }, "For MLflow, open the explorer in a tab of its own: ", el("code", {}, location.href.split("#")[0])) : null;
  const report = overview.report ? artifact(overview.report, "Report") : null;
  fill("links", report, ...rounds, tracked, alone, EMBEDDED ? null : el("a", { href: "../" }, "Airflow"));
}

/** What a warm start has brought along, in a line. */
export function prior(found) {
  document.getElementById("prior").hidden = !found;
  if (!found) return;
  const used = found.campaigns.filter((each) => each.trials);
  const days = (each) => Math.min(...Object.values(each.age_days)).toFixed(1);
  const named = used.map((each) => `${each.campaign} (${counted(each.trials, "trial")}, ${days(each)} days old)`);
  const left = found.campaigns.length - used.length;
  document.getElementById("prior").textContent = `Warm start: ${named.length
    ? `the search began with what it knew from ${named.join(", ")}` : "no earlier campaign could be used"}${
    left ? `; ${left} more gave nothing` : ""}. No number below is theirs.`;
}

/** That somebody is to approve, and where; nothing where `question` is null. */
export function approval(question) {
  const place = document.getElementById("approval");
  place.hidden = !question;
  if (question === place.querySelector("a")?.getAttribute("href")) return;
  if (question) fill("approval", "What this campaign recommends waits for an answer before it comes into force: ", link(question, "approve or reject it in Airflow"), ".");
}

const STANDING = { queued: "Waiting in Airflow", running: "Running", failed: "Stopped, its run in Airflow has failed",
  success: "Ended without a report, its run in Airflow is over" };

/** How far an unfinished campaign is; `run` is Airflow's of it, where there is one. */
export function progress(report, run, dag) {
  const panel = document.getElementById("progress");
  panel.hidden = report.finished;
  if (report.finished) return;
  const done = report.steps.filter((step) => step.state === "done").length;
  const most = report.repetitions_most;
  const soFar = most === null ? counted(report.repetitions, "repetition")
    : `${report.repetitions} of at most ${most} repetitions`;
  const under = run?.state === "running";
  const left = under && report.time_left_s !== null ? `, at most ${duration(report.time_left_s)} left at this pace` : "";
  const last = `last written ${ago(report.last_written_at)}`;
  const standing = run ? STANDING[run.state] ?? run.state : "Not finished";
  const marks = { done: "✓", "under way": under ? "▶" : "…", waiting: "·" };
  const steps = report.steps.map((step) => {
    const count = step.repetitions === null ? "" : ` ${step.repetitions}/${step.repetitions_most ?? "?"}`;
    return el("li", { class: step.state === "waiting" ? "quiet" : null }, `${marks[step.state]} ${step.name}${count}`);
  });
  fill("progress",
    el("p", {}, `${standing}: ${done} of ${report.steps.length} steps, ${soFar}${left}; ${last}. `,
      run && link(runAddress(run), "Its run in Airflow")),
    run?.state === "failed" ? el("p", { class: "quiet" },
      `Nothing that was measured is lost: clear the failed task, or trigger ${dag} with this campaign.`) : null,
    el("progress", { max: most ?? 1, value: most === null && under ? null : report.repetitions, "aria-label": "Repetitions" }),
    el("ul", { class: "steps" }, ...steps));
}

export function best(view, choice, path) {
  const point = pointOf(view, choice.best_id);
  const reasons = list(choice.reasons);
  if (!point) return fill("best", el("p", { class: "name" }, "Nothing keeps this."), reasons);
  const measured = point.confirmed ?? point.design;
  const values = Object.keys(view.objectives).map((name) => [view.objectives[name], shown(name, measured.values[name])]);
  const settings = Object.entries(point.factors).map(([name, value]) => [name, String(value)]);
  const files = FORMS.map(([form, text]) =>
    el("a", { href: `${path}/${point.configuration_id}/${form}`, download: true }, text));
  return fill("best",
    el("p", { class: "name" }, point.configuration_id, ` (${roleOf(view, point)})`),
    reasons,
    table([["Setting", "value"], ...settings, ["durability", point.durability.replaceAll("_", " ")]]),
    table([["Measured", counted(measured.repetitions, "repetition")], ...values]),
    el("div", { class: "downloads" }, "Download:", ...files,
      el("a", { href: `${path}/trials.csv`, download: true }, "all trials, CSV")),
    el("div", { id: "put-best-in-force" }));
}

/** Two configurations beside each other; the left one may be put in force. */
export function compare(view, leftId, rightId) {
  const sides = [pointOf(view, leftId), pointOf(view, rightId)];
  if (sides.includes(undefined)) return fill("compare");
  const [left, right] = sides;
  const names = Object.keys(left.factors);
  const values = (point, objective) => (point.confirmed ?? point.design).values[objective];
  const change = (objective) => {
    const [from, to] = [values(right, objective), values(left, objective)];
    if (!from || to === null) return "-";
    const percent = (to / from - 1) * 100;
    return `${percent > 0 ? "+" : ""}${percent.toFixed(Math.abs(percent) < 100 ? 1 : 0)} %`;
  };
  return fill("compare", table([
    ["", left.configuration_id, right.configuration_id, "left over right"],
    ["is", roleOf(view, left), roleOf(view, right), ""],
    ...names.map((name) => [name, left.factors[name], right.factors[name],
      left.factors[name] === right.factors[name] ? "" : "differs"]),
    ["durability", left.durability, right.durability, left.durability === right.durability ? "" : "differs"],
    ...Object.entries(view.objectives).map(([objective, words]) =>
      [words, shown(objective, values(left, objective)), shown(objective, values(right, objective)), change(objective)]),
    ["measured in", ...sides.map((point) => (point.confirmed ? "choice blocks" : `round ${point.round ?? 0}`)), ""],
    ["repetitions", ...sides.map((point) => (point.confirmed ?? point.design).repetitions), ""],
  ], { wrap: true }), el("p", { class: "quiet" }, "A plain difference of what was measured; gains with intervals stand with the decision."),
  el("div", { id: "put-left-in-force" }));
}

export function estimates(view, choice) {
  const confirmed = view.points.filter((point) => point.confirmed);
  const rows = confirmed.length ? confirmed : view.points.filter((point) => point.on_estimated_front);
  const none = el("p", { class: "quiet" }, "Nothing is estimated or confirmed yet.");
  if (!rows.length) return fill("estimates", none);
  const header = ["Configuration", "is", ...Object.values(view.objectives), "settings"];
  const pair = (point, objective) =>
    `${shown(objective, point.estimated?.[objective])} → ${shown(objective, (point.confirmed ?? point.design)?.values[objective])}`;
  const body = rows.map((point) => [point.configuration_id,
    [roleOf(view, point), ...point.chosen_as].join("; "),
    ...Object.keys(view.objectives).map((objective) => pair(point, objective)), settingsOf(point)]);
  const chosen = rows.findIndex((point) => point.configuration_id === choice.best_id);
  const note = el("p", { class: "quiet" }, "Estimated → measured (choice blocks). In bold: the best that remains.");
  return fill("estimates", table([header, ...body], { chosen, text: [1, header.length - 1] }), note);
}

/** The decision, the latency breakdown and the noise floor, as the card has them. */
export function evidence(view) {
  const { card } = view;
  const pending = (text) => el("p", { class: "quiet" }, text);
  const problems = list(view.problems);
  const stopped = problems && el("div", { class: "warning" }, "The validation gate stopped this campaign:", problems);
  if (!card) {
    fill("card", stopped, pending("Not decided yet: candidates are confirmed after the last round."));
  } else {
    const sentences = (label, texts) => (texts.length ? el("div", {}, el("h3", {}, label), list(texts)) : null);
    fill("card", stopped,
      el("p", { class: "headline" }, card.headline),
      view.provisional ? pending("Of this record size alone; the report adjusts for all.") : null,
      list(view.reasons),
      ...card.warnings.map((text) => el("p", { class: "warning" }, `Warning: ${text}`)),
      card.gains.length ? table(card.gains, { wrap: true }) : null,
      table(card.settings),
      sentences(card.price_label, card.price),
      sentences("Unresolved", card.unresolved),
      ...Object.entries(card.context).filter(([label]) => label !== "Noise").map(([label, texts]) => sentences(label, texts)),
      sentences("Notes", card.notes),
      el("p", { class: "quiet" }, `Evidence: ${card.evidence}`));
  }
  if (card?.breakdown.length) fill("latency", table(card.breakdown, { wrap: true }), list(card.explanation));
  else fill("latency", pending("The report tells it, where the clients' own metrics were recorded."));
  if (view.noise_table.length) fill("noise", table(view.noise_table), list(view.noise_sentences));
  else fill("noise", pending("This campaign spent no repetitions on the baseline against itself."));
}
