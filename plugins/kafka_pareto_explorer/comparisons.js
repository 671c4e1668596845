// The comparisons: which there are, and of one part what each level does beside the reference.

import { campaignOf, change } from "./address.js";
import { ask, Refused } from "./asking.js";
import { colours, plotly } from "./charts.js";
import { heat, levels } from "./comparison_traces.js";
import { EMBEDDED, el, fill, link, list, options, table } from "./dom.js";
import { followTheme } from "./theme.js";

let at = new URLSearchParams(location.hash.slice(1));
let shown = null;
let opened = 0;

const $ = (id) => document.getElementById(id);
const encoded = (name) => encodeURIComponent(at.get(name));
const campaignPath = () => `api/comparisons/${encoded("study")}/${encoded("campaign")}`;

function tell(error) {
  if (!(error instanceof Refused)) throw error;
  $("trouble").textContent = error.message;
  $("trouble").hidden = false;
}

function remember(changes) {
  change(at, changes);
  history.replaceState(null, "", `#${at}`);
}

/** What is shown goes at once; the answer tells whether anything else was opened since, after which nothing asked counts. */
function opening() {
  for (const id of ["view", "trouble", "waiting"]) $(id).hidden = true;
  shown = null;
  opened += 1;
  const number = opened;
  return () => number === opened;
}

async function start() {
  const current = opening();
  const campaigns = await ask("api/comparisons");
  if (!current()) return;
  $("empty").hidden = campaigns.length > 0 || at.has("campaign");
  if (!$("empty").hidden) return;
  const name = (entry) => `${entry.study}/${entry.campaign}`;
  const { name: chosen, listed } = campaignOf(at, campaigns);
  options(
    $("campaign"),
    campaigns.map((entry) => [name(entry), `${name(entry)} (${entry.state})`]),
    chosen,
  );
  if (!listed) $("campaign").prepend(el("option", { value: chosen, selected: true }, chosen));
  await openCampaign(chosen, current);
}

async function openCampaign(name, current = opening()) {
  const [study, campaign] = name.split("/");
  remember({ study, campaign });
  const overview = await ask(campaignPath());
  if (!current()) return;
  const report = `api/campaigns/${encoded("study")}/${encoded("campaign")}/artifacts/${overview.report}`;
  fill(
    "links",
    overview.report ? link(report, "Report") : null,
    el("a", { href: "./" }, "Pareto explorer"),
    el("a", { href: "doctor" }, "Doctor"),
    EMBEDDED ? null : el("a", { href: "../" }, "Airflow"),
  );
  $("waiting").hidden = overview.parts.length > 0;
  options(
    $("part"),
    overview.parts.map((part) => [part, part]),
    at.get("part"),
  );
  if (overview.parts.length === 0) return;
  const chosen = overview.parts.includes(at.get("part")) ? at.get("part") : overview.parts[0];
  $("part").value = chosen;
  await openPart(chosen, current);
}

async function openPart(part, current = opening()) {
  remember({ part });
  const path = `${campaignPath()}/${encoded("part")}`;
  const view = await ask(path);
  if (!current()) return;
  shown = view;
  $("part-title").textContent = view.title;
  fill("sentences", ...view.sentences.map((sentence) => el("p", {}, sentence)));
  fill(
    "tables",
    ...view.tables.flatMap(({ title, rows }) => [
      title ? el("h3", {}, title) : null,
      rows.length > 0 ? table(rows, { chosen: rows.findIndex(isReference) - 1 }) : null,
    ]),
  );
  fill("notes", list(view.notes), ...view.legend.map((sentence) => el("p", { class: "quiet" }, sentence)));
  fill(
    "downloads",
    el("a", { href: `${path}/levels.csv`, download: true }, "CSV: all numbers, with the ids of the repetitions"),
  );
  $("view").hidden = false;
  await draw();
}

const isReference = ([first], row) => row > 0 && first.endsWith("(reference)");

const headingOf = ({ title, reference }) => (reference ? `${title}: 1 is ${reference}` : title);

async function draw() {
  const view = shown;
  if (!view) return;
  const library = await plotly();
  if (view !== shown) return;
  const theme = colours();
  const charts = view.charts.map((chart) => ({
    chart,
    place: el("div", { class: "chart", role: "img", "aria-label": `${chart.title}; the tables below hold its values` }),
  }));
  fill("charts", ...charts.map(({ chart, place }) => el("div", {}, el("h3", {}, headingOf(chart)), place)));
  for (const { chart, place } of charts) {
    const drawn = chart.heat ? heat(chart, theme) : levels(view, chart, theme);
    if (drawn) library.react(place, ...drawn, { displayModeBar: false, responsive: true });
    else place.replaceWith(el("p", { class: "quiet" }, "Too few blocks have values for a ratio."));
  }
  document.body.dataset.drawn = String(Number(document.body.dataset.drawn ?? 0) + 1);
}

/** Tells what an action is refused, unless something else was opened meanwhile. */
function told(action) {
  return () => {
    const done = action();
    const number = opened;
    return Promise.resolve(done).catch((error) => {
      if (number === opened || !(error instanceof Refused)) tell(error);
    });
  };
}

followTheme(told(draw));
addEventListener(
  "hashchange",
  told(() => {
    at = new URLSearchParams(location.hash.slice(1));
    return start();
  }),
);
$("campaign").addEventListener(
  "change",
  told(() => openCampaign($("campaign").value)),
);
$("part").addEventListener(
  "change",
  told(() => openPart($("part").value)),
);
$("loading").remove(); // it stays where a part of this script never came
told(start)();
