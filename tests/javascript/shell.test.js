import assert from "node:assert/strict";
import { test } from "node:test";
import { campaignOf, change, themeOf } from "../../plugins/kafka_pareto_explorer/shell.js";

const CAMPAIGNS = [
  { study: "quick", campaign: "c2" },
  { study: "quick", campaign: "c1" },
];

test("given values are set, and empty ones are removed from the address", () => {
  const address = new URLSearchParams("study=quick&left=c1&latency_cv=0.1&right=c2");
  change(address, { study: "paper", left: null, latency_cv: "", right: undefined, size: 1024 });

  assert.equal(String(address), "study=paper&size=1024");
});

test("without a campaign in the address the first one is shown", () => {
  assert.deepEqual(campaignOf(new URLSearchParams(), CAMPAIGNS), { name: "quick/c2", listed: true });
  assert.deepEqual(campaignOf(new URLSearchParams("study=paper"), CAMPAIGNS), { name: "quick/c2", listed: true });
});

test("the address's campaign is shown, listed or not", () => {
  const asked = (text) => campaignOf(new URLSearchParams(text), CAMPAIGNS);

  assert.deepEqual(asked("study=quick&campaign=c1"), { name: "quick/c1", listed: true });
  assert.deepEqual(asked("study=paper&campaign=c1"), { name: "paper/c1", listed: false });
});

test("the user's choice in Airflow overrides the system's theme", () => {
  assert.equal(themeOf("light", true), "light");
  assert.equal(themeOf("dark", false), "dark");
  assert.equal(themeOf(null, true), "dark");
  assert.equal(themeOf("solarized", false), "light");
});
