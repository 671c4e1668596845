// Code shared by both pages: state in the address, choice of campaign, refusals, theme.

import { ask, Refused } from "./asking.js";
import { el, options } from "./dom.js";

const DARK = "(prefers-color-scheme: dark)";

export function themeOf(stored, systemIsDark) {
  if (stored === "light" || stored === "dark") return stored;
  return systemIsDark ? "dark" : "light";
}

/** Set the page's theme now and on every change, then redraw the charts. */
export function followTheme(redraw) {
  const set = () => {
    // Airflow stores the user's choice there, on the same origin.
    document.documentElement.dataset.theme = themeOf(localStorage.getItem("theme"), matchMedia(DARK).matches);
    redraw();
  };
  set();
  matchMedia(DARK).addEventListener("change", set);
  addEventListener("storage", set);
}

/** Set the given parameters; delete empty ones. */
export function change(address, changes) {
  for (const [name, value] of Object.entries(changes)) {
    if (value === "" || value === null || value === undefined) address.delete(name);
    else address.set(name, value);
  }
}

/** The campaign to show: that of the address, else the first. `listed` is false if the address names an unknown one. */
export function campaignOf(address, campaigns) {
  const names = campaigns.map((entry) => `${entry.study}/${entry.campaign}`);
  const asked = `${address.get("study")}/${address.get("campaign")}`;
  const listed = names.includes(asked) || !address.has("campaign");
  return { name: names.includes(asked) || !listed ? asked : names[0], listed };
}

export const $ = (id) => document.getElementById(id);

/** Show a refusal; any other error is a bug in the page. */
function tell(error) {
  if (!(error instanceof Refused)) throw error;
  $("trouble").textContent = error.message;
  $("trouble").hidden = false;
}

/**
 * Return a function that wraps an action to show its refusal, unless another campaign was opened since. A later success
 * of an action with the same `source` hides it.
 */
export function guard(opened) {
  let called = 0;
  let told = {};
  return (action, source = action) =>
    () => {
      called += 1;
      const call = called;
      const done = action();
      const number = opened();
      return Promise.resolve(done).then(
        () => {
          if (told.source === source && told.call < call) $("trouble").hidden = true;
        },
        (error) => {
          if (number !== opened() && error instanceof Refused) return;
          tell(error);
          told = { source, call };
        },
      );
    };
}

/** Let the skip link move the focus alone: the fragment of the address holds the page's state. */
function skipWithoutAddress() {
  const skip = document.querySelector(".skip");
  skip.addEventListener("click", (event) => {
    event.preventDefault();
    const target = document.querySelector(skip.getAttribute("href"));
    target.tabIndex = -1;
    target.focus();
  });
}

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
 * A page of campaigns: `path` lists them, `openCampaign` shows one, `hidden` names the elements to hide while opening.
 * Returns access to the address, and `guarded`, which shows an action's refusal until the same action succeeds.
 */
export function shell({ path, hidden, openCampaign }) {
  let at = new URLSearchParams(location.hash.slice(1));
  let opened = 0;
  const guarded = guard(() => opened);

  /** Return a check that no other campaign was opened since; its answers would be stale. */
  function opening() {
    for (const id of ["view", "trouble", ...hidden]) $(id).hidden = true;
    opened += 1;
    const number = opened;
    return () => number === opened;
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
    guarded(() => {
      at = new URLSearchParams(location.hash.slice(1));
      return start();
    }),
  );
  $("campaign").addEventListener(
    "change",
    guarded(() => openCampaign($("campaign").value)),
  );
  skipWithoutAddress();
  $("loading").remove(); // it stays if a part of this script fails to load
  const encoded = (name) => encodeURIComponent(at.get(name));
  return {
    asked: (name) => at.get(name),
    encoded,
    campaignPath: (root = path) => `${root}/${encoded("study")}/${encoded("campaign")}`,
    remember(changes) {
      change(at, changes);
      history.replaceState(null, "", `#${at}`);
    },
    opening,
    guarded,
    start: guarded(start),
  };
}
