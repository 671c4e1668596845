// The parts of the page that are text and tables.

import { runAddress } from "./asking.js";
import { measuredOf, pointOf, roleOf } from "./configurations.js";
import { EMBEDDED, el, fileLinks, fill, link, list, table } from "./dom.js";
import { counted, shown } from "./format.js";
import { comparison, estimateRows, priorText, progressText, stepText } from "./panel_text.js";

export function links(overview, path) {
  const artifact = (name, text) => link(`${path}/artifacts/${name}`, text);
  const rounds = overview.data_docs.map((name, at) => artifact(name, at ? `Data Docs, round ${at}` : "Data Docs"));
  const tracked = overview.tracked && !EMBEDDED ? link(`${path}/mlflow`, "MLflow") : null;
  const alone = EMBEDDED
    ? el(
        "span",
        { class: "quiet" },
        "For MLflow, open the explorer in a tab of its own: ",
        el("code", {}, location.href.split("#")[0]),
      )
    : null;
  const report = overview.report ? artifact(overview.report, "Report") : null;
  const pages = [el("a", { href: "comparisons" }, "Comparisons"), el("a", { href: "doctor" }, "Doctor")];
  fill("links", report, ...rounds, tracked, alone, ...pages, EMBEDDED ? null : el("a", { href: "../" }, "Airflow"));
}

/** What a warm start has brought along, in a line. */
export function prior(found) {
  const place = document.getElementById("prior");
  place.hidden = !found;
  if (found) place.textContent = priorText(found);
}

/** That somebody is to approve, and where; nothing where `question` is null. */
export function approval(question) {
  const place = document.getElementById("approval");
  place.hidden = !question;
  if (question === place.querySelector("a")?.getAttribute("href")) return;
  if (question)
    fill(
      "approval",
      "What this campaign recommends waits for an answer before it comes into force: ",
      link(question, "approve or reject it in Airflow"),
      ".",
    );
}

/** How far an unfinished campaign is; `run` is Airflow's of it, where there is one. */
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
    el("p", {}, progressText(report, run), run && link(runAddress(run), "Its run in Airflow")),
    run?.state === "failed"
      ? el(
          "p",
          { class: "quiet" },
          `Nothing that was measured is lost: clear the failed task, or trigger ${dag} with this campaign.`,
        )
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
  if (!point) return fill("best", el("p", { class: "name" }, "Nothing keeps this."), reasons);
  const measured = measuredOf(point);
  const values = Object.keys(view.objectives).map((name) => [
    view.objectives[name],
    shown(name, measured.values[name]),
  ]);
  const settings = Object.entries(point.factors).map(([name, value]) => [name, String(value)]);
  return fill(
    "best",
    el("p", { class: "name" }, point.configuration_id, ` (${roleOf(view, point)})`),
    reasons,
    table([["Setting", "value"], ...settings, ...promiseOf(view, point)]),
    table([["Measured", counted(measured.repetitions, "repetition")], ...values]),
    el(
      "div",
      { class: "downloads" },
      "Download:",
      ...fileLinks(`${path}/${point.configuration_id}`, view.files),
      el("a", { href: `${path}/trials.csv`, download: true }, "all trials, CSV"),
    ),
    el("div", { id: "put-best-in-force" }),
  );
}

function promiseOf(view, point) {
  return view.durabilities.length > 0 ? [["durability", point.durability.replaceAll("_", " ")]] : [];
}

/** Two configurations beside each other; the left one may be put in force. */
export function compare(view, leftId, rightId) {
  const sides = [pointOf(view, leftId), pointOf(view, rightId)];
  if (sides.includes(undefined)) return fill("compare");
  return fill(
    "compare",
    table(comparison(view, ...sides), { wrap: true }),
    el(
      "p",
      { class: "quiet" },
      "A plain difference of what was measured; gains with intervals stand with the decision.",
    ),
    el("div", { id: "put-left-in-force" }),
  );
}

export function estimates(view, choice) {
  const { header, rows, chosen } = estimateRows(view, choice);
  if (rows.length === 0)
    return fill("estimates", el("p", { class: "quiet" }, "Nothing is estimated or confirmed yet."));
  const note = el("p", { class: "quiet" }, "Estimated → measured (choice blocks). In bold: the best that remains.");
  return fill("estimates", table([header, ...rows], { chosen, text: [1, header.length - 1] }), note);
}

/** The decision, the latency breakdown and the noise floor, as the card has them. */
export function evidence(view) {
  const { card } = view;
  const pending = (text) => el("p", { class: "quiet" }, text);
  const problems = list(view.problems);
  const stopped = problems && el("div", { class: "warning" }, "The validation gate stopped this campaign:", problems);
  if (card) {
    const sentences = (title, texts) => (texts.length > 0 ? el("div", {}, el("h3", {}, title), list(texts)) : null);
    fill(
      "card",
      stopped,
      el("p", { class: "headline" }, card.headline),
      card.holds_for ? pending(`For ${card.holds_for}.`) : null,
      view.provisional ? pending("Of this alone; the report adjusts for all that are tuned.") : null,
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
      el("p", { class: "quiet" }, `Evidence: ${card.evidence}`),
    );
  } else {
    fill("card", stopped, pending("Not decided yet: candidates are confirmed after the last round."));
  }
  if (card?.breakdown.length) fill("latency", table(card.breakdown, { wrap: true }), list(card.explanation));
  else fill("latency", pending("The report tells it, where the clients' own metrics were recorded."));
  if (view.noise_table.length > 0) fill("noise", table(view.noise_table), list(view.noise_sentences));
  else fill("noise", pending("This campaign spent no repetitions on the baseline against itself."));
}
