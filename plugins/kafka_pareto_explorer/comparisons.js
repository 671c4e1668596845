// The comparisons page: one part's levels beside the reference.

import { ask } from "./asking.js";
import { CHART_OPTIONS, colours, countDrawn, plotly } from "./charts.js";
import { heat, levels } from "./comparison_traces.js";
import { download, el, fill, link, list, options, quiet, siteLinks, table } from "./dom.js";
import { $, followTheme, shell } from "./shell.js";

let shown = null;

const page = shell({ path: "api/comparisons", hidden: ["waiting"], openCampaign });
const { asked, campaignPath, encoded, remember, guarded } = page;

function opening() {
  shown = null;
  return page.opening();
}

async function openCampaign(name, current = opening()) {
  shown = null;
  const [study, campaign] = name.split("/");
  remember({ study, campaign });
  showLinks(null);
  const overview = await ask(campaignPath());
  if (!current()) return;
  showLinks(overview.report);
  $("waiting").hidden = overview.parts.length > 0;
  options(
    $("part"),
    overview.parts.map((part) => [part, part]),
    asked("part"),
  );
  if (overview.parts.length === 0) return;
  const chosen = overview.parts.includes(asked("part")) ? asked("part") : overview.parts[0];
  $("part").value = chosen;
  await openPart(chosen, current);
}

function showLinks(report) {
  const address = `${campaignPath("api/campaigns")}/artifacts/${report}`;
  fill("links", report ? link(address, "Report") : null, ...siteLinks("./", "Pareto explorer"));
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
  fill("notes", list(view.notes), ...view.legend.map((sentence) => quiet(sentence)));
  fill("downloads", download(`${path}/levels.csv`, "All numbers with repetition IDs (CSV)"));
  $("view").hidden = false;
  await draw();
}

const isReference = ([first], row) => row > 0 && first.endsWith("(reference)");

const headingOf = ({ title, reference }) => (reference ? `${title} (1 = ${reference})` : title);

async function draw() {
  const view = shown;
  if (!view) return;
  const library = await plotly();
  if (view !== shown) return;
  const theme = colours();
  const charts = view.charts.map((chart) => ({
    chart,
    place: el("div", { class: "chart", role: "img", "aria-label": `${chart.title}; the tables below list the values` }),
  }));
  for (const drawn of document.querySelectorAll("#charts .js-plotly-plot")) library.purge(drawn);
  fill("charts", ...charts.map(({ chart, place }) => el("div", {}, el("h3", {}, headingOf(chart)), place)));
  for (const { chart, place } of charts) {
    const drawn = chart.heat ? heat(chart, theme) : levels(view, chart, theme);
    if (drawn) library.react(place, ...drawn, CHART_OPTIONS);
    else place.replaceWith(quiet("Too few blocks with values to compute a ratio."));
  }
  countDrawn();
}

followTheme(guarded(draw));
$("part").addEventListener(
  "change",
  guarded(() => openPart($("part").value)),
);
page.start();
