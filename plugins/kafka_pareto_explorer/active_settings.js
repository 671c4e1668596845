// The active settings, and the buttons that change them through an Airflow DAG, as the logged-in user.

import { ask, failureOf, inForcePath, moveSettings, Refused, runAddress } from "./asking.js";
import { button, el, fileLinks, fill, link, quiet, table } from "./dom.js";
import { counted, moment } from "./values.js";

const CHANGES = /--changes-seen=(?<name>[0-9a-f]{10})/u;
const CAME_BY = { recommended: "recommended", picked: "picked", rolled_back: "rolled back" };

const changesTable = (changes, before, after) =>
  table([["Property", before, after], ...changes.map((each) => [each.name, each.before, each.after])]);

const nameOf = (version) =>
  version
    ? `Version ${version.version}: ${version.configuration_id}${version.is_baseline ? " (the baseline)" : ""}`
    : "The baseline";

function newest(view, study) {
  const now = view.versions.at(-1);
  const by = `${CAME_BY[now.came_by]}${now.accepted_by ? `, by ${now.accepted_by}` : ""}`;
  const address = new URLSearchParams({ study, campaign: now.campaign, size: now.case });
  const from = el("a", { href: `#${address}` }, now.campaign);
  return [
    el("p", { class: "name" }, nameOf(now)),
    el("p", {}, `Since ${moment(now.at)}; ${by}${now.reason ? `: ${now.reason}` : ""}. From campaign `, from, "."),
    view.differs_from_baseline.length > 0
      ? changesTable(view.differs_from_baseline, "baseline", "active")
      : el("p", {}, "Same settings as the baseline."),
  ];
}

function history(view) {
  const rows = view.versions
    .toReversed()
    .map((each) => [
      String(each.version),
      moment(each.at),
      each.configuration_id,
      CAME_BY[each.came_by],
      each.accepted_by || "-",
      each.campaign,
      each.reason || "-",
    ]);
  const header = ["Version", "active since", "configuration", "origin", "by", "campaign", "reason"];
  return el(
    "details",
    {},
    el("summary", {}, rows.length > 1 ? `All ${counted(rows.length, "version")}` : "1 version"),
    table([header, ...rows], { text: [6], wrap: true }),
  );
}

/** Show a case's active settings if the view is still `current()`; call `moved` when they may have changed. */
export async function showActive({ study, case: size, case_label: at }, { dag, options }, moved, current) {
  const view = await ask(inForcePath(study, size));
  if (!current()) return;
  const title = "Roll back to the previous settings";
  const conf = { action: "roll_back", study, case: size };
  const rollBack = () => confirmMove({ title, move: view.way_back, conf, at, dag, options, moved });
  const back = button("Roll back …", rollBack, { disabled: Boolean(view.way_back.refused) });
  const nothing = quiet("No settings have been activated for this case. The baseline is assumed to be in use.");
  if (view.versions.length === 0) return fill("in-force", nothing);
  return fill(
    "in-force",
    ...newest(view, study),
    history(view),
    el(
      "div",
      { class: "downloads" },
      back,
      view.way_back.refused ? el("span", { class: "quiet" }, view.way_back.refused) : null,
      ...fileLinks(inForcePath(study, size), view.files),
    ),
  );
}

/** Show a button that activates a measured configuration, or the reason why it is disabled. */
export async function offer(place, path, { conf, at, dag, options }, moved) {
  const move = await ask(`${path}/${encodeURIComponent(conf.configuration)}/move`);
  const title = `Activate ${conf.configuration}`;
  const accept = () => confirmMove({ title, move, conf: { action: "accept", ...conf }, at, dag, options, moved });
  place.replaceChildren(button(`${title} …`, accept, { disabled: Boolean(move.refused) }), quiet(move.refused));
}

function confirmMove({ title, move, conf, at, dag, options, moved }) {
  const dialog = document.getElementById("move");
  const from = move.from_version === null ? "the baseline" : `version ${move.from_version}`;
  const reason = el("textarea", { id: "reason", rows: 2, maxlength: options.reason.maxLength });
  const said = el("p", { role: "status" });
  let seen = {};
  const close = button("Cancel", () => dialog.close());
  const put = async () => {
    confirm.disabled = true;
    const stated = { ...conf, ...seen, from_version: move.from_version ?? 0, reason: reason.value.trim() };
    const done = await carryOut(dag, stated, said, moved);
    confirm.disabled = done.begun && !done.changes;
    if (done.changes) {
      seen = { changes_seen: done.changes };
      confirm.textContent = "Activate anyway";
    }
    close.textContent = "Close";
  };
  const confirm = button("Confirm", put, { class: "main" });
  dialog.replaceChildren(
    el("h2", { id: "move-title" }, title),
    el("p", {}, `Study ${conf.study}, ${at}. Changes from ${from}:`),
    move.changes.length > 0
      ? changesTable(move.changes, "now", "after")
      : el("p", {}, "No setting changes; this campaign becomes the evidence."),
    move.unmeasured ? el("p", { class: "warning" }, `Warning: ${move.unmeasured}`) : "",
    move.weakens ? el("p", { class: "warning" }, `Warning: weaker durability guarantee, ${move.weakens}.`) : "",
    el("label", { for: "reason" }, `${options.reason.title}: ${options.reason.description}`),
    reason,
    said,
    el("div", { class: "downloads" }, confirm, close),
  );
  dialog.showModal();
  reason.focus();
}

/**
 * Trigger the move and report its result. Returns whether an Airflow run began (the dialog's table may then be
 * outdated), and the name of the cluster changes to confirm first.
 */
async function carryOut(dag, conf, said, moved) {
  let begun = null;
  let changes = null;
  const see = () => (begun ? [" See ", link(runAddress(begun), "the Airflow run"), "."] : []);
  try {
    const run = await moveSettings(dag, conf, (each, silence) => {
      begun = each;
      said.replaceChildren(silence ? `${silence} Retrying …` : `${each.state} …`, ...see());
    });
    const ending = run.state === "success" ? "Done." : await failed(run, conf);
    changes = CHANGES.exec(ending)?.groups.name ?? null;
    said.replaceChildren(ending, ...see());
    await moved();
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    said.replaceChildren(error.message, ...see());
  }
  return { begun: begun !== null, changes };
}

/** Describe why a run failed, and which settings are active: a killed run may have changed them. */
async function failed(run, conf) {
  const why = await failureOf(run);
  const { versions } = await ask(inForcePath(conf.study, conf.case));
  const now = versions.at(-1);
  const changed = (now?.version ?? 0) !== conf.from_version;
  return `${changed ? "The run failed" : "No change was made"}${why ? `: ${why}` : ""}. Currently active: ${nameOf(now)}.`;
}
