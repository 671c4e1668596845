// What both pages share: the address that keeps what is looked at, the choice of a campaign, refusals, and the theme.

import { ask, Refused } from "./asking.js";
import { el, options } from "./dom.js";

const DARK = "(prefers-color-scheme: dark)";

export function themeOf(stored, systemIsDark) {
  if (stored === "light" || stored === "dark") return stored;
  return systemIsDark ? "dark" : "light";
}

/** Sets the page's theme, now and whenever it changes, and has drawn again what does not change by itself. */
export function followTheme(redraw) {
  const set = () => {
    // Airflow keeps its user's choice there, where the same origin may read it.
    document.documentElement.dataset.theme = themeOf(localStorage.getItem("theme"), matchMedia(DARK).matches);
    redraw();
  };
  set();
  matchMedia(DARK).addEventListener("change", set);
  addEventListener("storage", set);
}

/** Sets what is given, and leaves out what is empty. */
export function change(address, changes) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) address.delete(name);
    else address.set(name, value);
  }
}

/** The campaign to show, the address's or else the first one; `listed` unless the address has one that is not there. */
export function campaignOf(address, campaigns) {
  const names = campaigns.map((entry) => `${entry.study}/${entry.campaign}`);
  const asked = `${address.get("study")}/${address.get("campaign")}`;
  const listed = names.includes(asked) || !address.has("campaign");
  return { name: names.includes(asked) || !listed ? asked : names[0], listed };
}

export const $ = (id) => document.getElementById(id);

/** A refusal is shown; anything else is a fault of the page. */
export function tell(error) {
  if (!(error instanceof Refused)) throw error;
  $("trouble").textContent = error.message;
  $("trouble").hidden = false;
}

/** Fills the choice of campaigns, and returns the chosen one. */
function offerCampaigns(address, campaigns) {
  const name = (entry) => `${entry.study}/${entry.campaign}`;
  const { name: chosen, listed } = campaignOf(address, campaigns);
  options(
    $("campaign"),
    campaigns.map((entry) => [name(entry), `${name(entry)} (${entry.state})`]),
    chosen,
  );
  if (!listed) $("campaign").prepend(el("option", { value: chosen, selected: true }, chosen));
  return chosen;
}

/**
 * A page of campaigns: `path` lists them, `openCampaign` shows one, and `hidden` names what goes at once when another
 * is opened. Returns what the page needs of its address, and `told`, by which an action tells what it is refused.
 */
export function shell({ path, hidden, openCampaign }) {
  let at = new URLSearchParams(location.hash.slice(1));
  let opened = 0;

  /** The answer tells whether anything else was opened since, after which nothing asked counts. */
  function opening() {
    for (const id of ["view", "trouble", ...hidden]) $(id).hidden = true;
    opened += 1;
    const number = opened;
    return () => number === opened;
  }

  function told(action) {
    return () => {
      const done = action();
      const number = opened;
      return Promise.resolve(done).catch((error) => {
        if (number === opened || !(error instanceof Refused)) tell(error);
      });
    };
  }

  async function start() {
    const current = opening();
    const campaigns = await ask(path);
    if (!current()) return;
    $("empty").hidden = campaigns.length > 0 || at.has("campaign");
    if (!$("empty").hidden) return;
    await openCampaign(offerCampaigns(at, campaigns), current);
  }

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
  $("loading").remove(); // it stays where a part of this script never came
  return {
    asked: (name) => at.get(name),
    encoded: (name) => encodeURIComponent(at.get(name)),
    remember(changes) {
      change(at, changes);
      history.replaceState(null, "", `#${at}`);
    },
    opening,
    told,
    start: told(start),
  };
}
