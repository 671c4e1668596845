// What is looked at, kept in the address so that a view can be shared, and asked of the server, which decides.

import { drawCharts, redrawOnTheme } from "./charts.js";
import { fill, el, options } from "./dom.js";
import * as panels from "./panels.js";
import { readWishes, wishForm } from "./wishes.js";

const PROGRESS_EVERY_MS = 10_000;
const RESULTS_EVERY_MS = 30_000;

const state = { view: null, choice: null, intervals: { design: {}, confirmed: {} }, asked: 0 };
let at = new URLSearchParams(location.hash.slice(1));

const $ = (id) => document.getElementById(id);

class Refused extends Error {}

async function ask(path) {
  let answer;
  try {
    answer = await fetch(path, { headers: { Accept: "application/json" } });
  } catch {
    throw new Refused("Airflow does not answer; the page tries again.");
  }
  if (answer.ok) return answer.json();
  if (answer.status === 401) throw new Refused("You are logged out of Airflow. Log in, then open this page again.");
  if (answer.status === 403) throw new Refused("Only those who may read the DAG tune_producer see its campaigns.");
  const said = await answer.json().catch(() => ({}));
  throw new Refused(String(said.detail ?? `Airflow answered ${answer.status}.`));
}

function tell(error) {
  if (!(error instanceof Refused)) throw error;
  $("trouble").textContent = error.message;
  $("trouble").hidden = false;
}

function remember(changes) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) at.delete(name);
    else at.set(name, value);
  }
  history.replaceState(null, "", `#${at}`);
}

const campaignPath = () => `api/campaigns/${at.get("study")}/${at.get("campaign")}`;
const sizePath = () => `${campaignPath()}/${at.get("size")}`;

async function start() {
  const campaigns = await ask("api/campaigns");
  $("empty").hidden = campaigns.length > 0;
  if (!campaigns.length) return;
  const name = (entry) => `${entry.study}/${entry.campaign}`;
  const wanted = `${at.get("study")}/${at.get("campaign")}`;
  const known = campaigns.some((entry) => name(entry) === wanted);
  const chosen = known || at.has("campaign") ? wanted : name(campaigns[0]);
  options($("campaign"), campaigns.map((entry) => [name(entry), `${name(entry)} (${entry.state})`]), chosen);
  if (!known && at.has("campaign")) $("campaign").prepend(el("option", { value: wanted, selected: true }, wanted));
  await openCampaign(chosen);
}

async function openCampaign(name) {
  const [study, campaign] = name.split("/");
  remember({ study, campaign });
  $("trouble").hidden = true;
  $("view").hidden = true;
  const overview = await ask(campaignPath());
  const sizes = overview.record_sizes_bytes.map(String);
  remember({ size: sizes.includes(at.get("size")) ? at.get("size") : sizes[0] });
  options($("size"), sizes.map((size) => [size, `${Number(size).toLocaleString("en")} B`]), at.get("size"));
  panels.links(overview, campaignPath());
  panels.progress(overview.progress);
  await openSize();
  if (!overview.progress.finished) follow(overview.progress.repetitions);
}

async function openSize() {
  const path = sizePath();
  const view = await ask(path);
  if (path !== sizePath()) return;
  state.view = view;
  $("trouble").hidden = true;
  state.intervals = { design: {}, confirmed: {} };
  wishForm(state.view, at, () => choose(true));
  choiceOfAxes();
  panels.evidence(state.view);
  $("view").hidden = false;
  await choose(false);
  const intervals = await ask(`${path}/intervals`);
  if (path !== sizePath()) return;
  state.intervals = intervals;
  const shown = view.points.filter((point) => point.on_estimated_front).length;
  const thinned = shown < view.estimated_front_points
    ? `; ${shown} of ${view.estimated_front_points} points of the estimated front` : "";
  $("interval-note").textContent = `bars: 95 % intervals of means, where measured twice or more${thinned}`;
  draw();
}

/** Asks for the best that remains; of answers that overtake each other the last question's counts. */
async function choose(changed) {
  const wishes = readWishes();
  if (changed) remember(wishes);
  const number = ++state.asked;
  const given = Object.entries(wishes).filter(([, value]) => value !== "");
  const choice = await ask(`${sizePath()}/choice?${new URLSearchParams(given)}`);
  if (number !== state.asked) return;
  state.choice = choice;
  panels.best(state.view, choice, sizePath());
  choiceOfSides();
  draw();
}

function draw() {
  drawCharts(state, { across: $("across").value, up: $("up").value }, (id) => side("left", id));
  panels.estimates(state.view, state.choice);
}

function choiceOfAxes() {
  const entries = Object.entries(state.view.objectives);
  options($("across"), entries, at.get("across") ?? "p95_latency_ms");
  options($("up"), entries, at.get("up") ?? "throughput_mib_s");
}

function choiceOfSides() {
  const { view, choice } = state;
  const measured = view.points.filter((point) => point.confirmed ?? point.design);
  const entries = measured.map((point) => [point.configuration_id, panels.label(view, point)]);
  const ids = measured.map((point) => point.configuration_id);
  const known = (id, other) => (ids.includes(id) ? id : other);
  options($("left"), entries, known(at.get("left"), choice.best_id ?? choice.nearest_id));
  options($("right"), entries, known(at.get("right"), view.baseline_id));
  panels.compare(view, $("left").value, $("right").value);
}

function side(which, id) {
  remember({ [which]: id });
  choiceOfSides();
}

/** Looks on while a campaign runs; new results are read at most every half minute: they come from the measured machine. */
function follow(repetitions) {
  const path = campaignPath();
  let known = repetitions;
  let readAt = Date.now();
  const timer = setInterval(async () => {
    if (path !== campaignPath()) return clearInterval(timer);
    if (document.hidden) return undefined;
    try {
      const progress = await ask(`${path}/progress`);
      panels.progress(progress);
      const due = progress.repetitions !== known && Date.now() - readAt >= RESULTS_EVERY_MS;
      if (due || progress.finished) {
        known = progress.repetitions;
        readAt = Date.now();
        await openSize();
      }
      if (progress.finished) clearInterval(timer);
    } catch (error) {
      tell(error);
    }
    return undefined;
  }, PROGRESS_EVERY_MS);
}

function theme() {
  // Airflow keeps its user's choice there, where the same origin may read it.
  const stored = localStorage.getItem("theme");
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = ["light", "dark"].includes(stored) ? stored : dark ? "dark" : "light";
  if (state.choice) redrawOnTheme();
}

const told = (action) => () => Promise.resolve(action()).catch(tell);

theme();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", theme);
addEventListener("storage", theme);
addEventListener("hashchange", told(() => { at = new URLSearchParams(location.hash.slice(1)); return start(); }));
$("campaign").addEventListener("change", told(() => openCampaign($("campaign").value)));
$("size").addEventListener("change", told(() => { remember({ size: $("size").value }); return openSize(); }));
for (const id of ["across", "up"]) $(id).addEventListener("change", () => { remember({ [id]: $(id).value }); draw(); });
for (const id of ["left", "right"]) $(id).addEventListener("change", () => side(id, $(id).value));
addEventListener("unhandledrejection", (event) => {
  if (event.reason instanceof Refused) { event.preventDefault(); tell(event.reason); }
});
fill("card", el("p", { class: "quiet" }, "Reading …"));
told(start)();
