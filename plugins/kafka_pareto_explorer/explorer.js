// The Pareto explorer: the address holds the state of the view; the server makes every decision.

import { offer, showActive } from "./active_settings.js";
import { ask, keptWhere, runOf, waitingOf } from "./asking.js";
import { drawCharts, redrawOnTheme } from "./charts.js";
import { redrawChecks, showChecks } from "./checks.js";
import { fill, options, quiet } from "./dom.js";
// biome-ignore lint/performance/noNamespaceImport: panels.best reads better than best, and nothing is bundled
import * as panels from "./panels.js";
import { readRequirements, requirementsForm } from "./requirements.js";
import { $, followTheme, shell } from "./shell.js";
import { label, measuredOf } from "./values.js";

const PROGRESS_EVERY_MS = 10_000;
const RESULTS_EVERY_MS = 30_000;

const state = {
  view: null,
  path: null,
  choice: null,
  intervals: { design: {}, confirmed: {} },
  asked: 0,
  current: () => true,
  following: null,
  settingsDag: null,
  options: {},
};

const page = shell({ path: "api/campaigns", hidden: [], openCampaign });
const { asked, campaignPath, encoded, remember, guarded } = page;
const sizePath = () => `${campaignPath()}/${encoded("size")}`;

function opening() {
  state.current = page.opening();
  return state.current;
}

async function openCampaign(name, current = opening()) {
  state.current = current;
  clearInterval(state.following);
  state.following = null;
  const [study, campaign] = name.split("/");
  remember({ study, campaign });
  // If this campaign is refused, nothing of the previous one stays.
  panels.approval(null);
  panels.prior(null);
  panels.progress({ finished: true });
  panels.links({ data_docs: [] }, campaignPath());
  const overview = await ask(campaignPath());
  if (!current()) return;
  const sizes = overview.cases.map((each) => each.case);
  $("case-word").textContent = overview.case_word;
  remember({ size: sizes.includes(asked("size")) ? asked("size") : sizes[0] });
  options(
    $("size"),
    overview.cases.map((each) => [each.case, each.label]),
    asked("size"),
  );
  panels.links(overview, campaignPath());
  panels.prior(overview.prior);
  state.settingsDag = overview.settings_dag;
  state.options = overview.options;
  panels.progress(overview.progress, null, overview.tune_dag);
  if (overview.progress.finished) followApproval(overview.tune_dag);
  else follow(overview.progress, overview.tune_dag);
  await openSize(current);
}

async function openSize(current = opening()) {
  const path = sizePath();
  const view = await ask(path);
  if (!current()) return;
  Object.assign(state, { view, path, intervals: { design: {}, confirmed: {} } });
  $("trouble").hidden = true;
  // New results change the sliders' steps; do not rebuild the form while somebody edits it.
  if ($("view").hidden || !$("requirements").contains(document.activeElement))
    requirementsForm(
      view,
      asked,
      guarded(() => choose(true)),
    );
  choiceOfAxes();
  panels.evidence(view);
  $("view").hidden = false;
  await choose(false);
  if (!current()) return;
  beside();
  const intervals = await ask(`${path}/intervals`);
  if (!current()) return;
  state.intervals = intervals;
  $("interval-note").textContent = panels.intervalNote(view);
  draw();
}

/** Load active settings and checks; the choice and the charts do not wait for them. */
function beside() {
  const { view, current } = state;
  const settings = { dag: state.settingsDag, options: state.options };
  guarded(() => showActive(view, settings, inForceMoved, current), "active settings")();
  guarded(() => showChecks(view, current), "checks")();
}

function inForceMoved() {
  beside();
  offerToMove("activate-best", state.choice.best_id);
  offerToMove("activate-left", $("left").value);
}

function offerToMove(place, configuration) {
  const { view } = state;
  const conf = { study: view.study, campaign: view.campaign, case: view.case, configuration };
  const move = { conf, at: view.case_label, dag: state.settingsDag, options: state.options };
  if ($(place)) guarded(() => offer($(place), state.path, move, inForceMoved), place)();
}

/** Request the best match; ignore all answers but the latest. */
async function choose(changed) {
  const requirements = readRequirements();
  if (changed) remember(requirements);
  state.asked += 1;
  const number = state.asked;
  const { current, path } = state;
  const given = Object.entries(requirements).filter(([, value]) => value !== "");
  const choice = await ask(`${path}/choice?${new URLSearchParams(given)}`);
  if (number !== state.asked || !current()) return;
  state.choice = choice;
  panels.best(state.view, choice, path);
  offerToMove("activate-best", choice.best_id);
  choiceOfSides();
  draw();
}

function draw() {
  const axes = { across: $("across").value, up: $("up").value };
  guarded(() => drawCharts(state, axes, (id) => side("left", id)), "charts")();
  panels.estimates(state.view, state.choice);
}

function choiceOfAxes() {
  const entries = Object.entries(state.view.objectives).map(([name, { label: words }]) => [name, words]);
  const [[first], [second]] = entries;
  const known = (axis, other) => (Object.hasOwn(state.view.objectives, asked(axis)) ? asked(axis) : other);
  options($("across"), entries, known("across", first));
  options($("up"), entries, known("up", second));
}

function choiceOfSides() {
  const { view, choice } = state;
  const measured = view.points.filter(measuredOf);
  const entries = measured.map((point) => [point.configuration_id, label(view, point)]);
  const ids = measured.map((point) => point.configuration_id);
  const known = (id, other) => (ids.includes(id) ? id : other);
  options($("left"), entries, known(asked("left"), choice.best_id ?? choice.nearest_id));
  options($("right"), entries, known(asked("right"), view.baseline_id));
  panels.compare(view, $("left").value, $("right").value);
  offerToMove("activate-left", $("left").value);
}

function side(which, id) {
  remember({ [which]: id });
  choiceOfSides();
}

/** Show a pending approval; reload the active settings once it is over. */
function followApproval(dag) {
  const [study, campaign] = [asked("study"), asked("campaign")];
  let waited = false;
  const look = guarded(() => show().catch(keptWhere(null)));
  const timer = setInterval(() => {
    if (!document.hidden) look();
  }, PROGRESS_EVERY_MS);
  state.following = timer;
  async function show() {
    const { waits, question } = await waitingOf(dag, state.settingsDag, study, campaign);
    if (timer !== state.following) return;
    panels.approval(question);
    if (!waits) {
      clearInterval(timer);
      state.following = null;
      // A view that is still opening loads them itself.
      if (waited && !$("view").hidden) inForceMoved();
    }
    waited = waits;
  }
  look();
}

/** Follow a running campaign; read results at most every 30 s, because reading puts load on the measured machine. */
function follow(first, dag) {
  const path = campaignPath();
  const [study, campaign] = [asked("study"), asked("campaign")];
  let known = first.repetitions;
  let run = null;
  let readAt = Date.now();
  const look = guarded(async () => show(await ask(`${path}/progress`)), "progress");
  const timer = setInterval(() => {
    if (!document.hidden) look();
  }, PROGRESS_EVERY_MS);
  state.following = timer;
  async function show(progress) {
    // Stored progress is shown even if Airflow does not respond.
    run = progress.finished ? null : await runOf(dag, study, campaign).catch(keptWhere(run));
    if (timer !== state.following || path !== campaignPath()) return;
    panels.progress(progress, run, dag);
    const due = progress.repetitions !== known && Date.now() - readAt >= RESULTS_EVERY_MS;
    if (progress.finished) {
      const overview = await ask(path);
      if (timer !== state.following) return;
      clearInterval(timer);
      panels.links(overview, path);
      followApproval(dag);
    }
    if (!(due || progress.finished)) return;
    known = progress.repetitions;
    readAt = Date.now();
    await openSize(state.current);
  }
  guarded(() => show(first), "progress")();
}

function redraw() {
  if (state.choice) guarded(redrawOnTheme, "charts")();
  guarded(redrawChecks)();
}

followTheme(redraw);
$("size").addEventListener(
  "change",
  guarded(() => {
    remember({ size: $("size").value });
    return openSize();
  }),
);
for (const id of ["across", "up"])
  $(id).addEventListener("change", () => {
    remember({ [id]: $(id).value });
    draw();
  });
for (const id of ["left", "right"]) $(id).addEventListener("change", () => side(id, $(id).value));
fill("card", quiet("Loading …"));
page.start();
