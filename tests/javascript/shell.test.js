import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { Refused } from "../../plugins/kafka_pareto_explorer/asking.js";
import { campaignOf, change, guard, themeOf } from "../../plugins/kafka_pareto_explorer/shell.js";

const CAMPAIGNS = [
  { study: "quick", campaign: "c2" },
  { study: "quick", campaign: "c1" },
];

const trouble = {};
beforeEach(() => {
  Object.assign(trouble, { hidden: true, textContent: "" });
  globalThis.document = { getElementById: () => trouble };
});
after(() => {
  Reflect.deleteProperty(globalThis, "document");
});

const refused = (message) => () => Promise.reject(new Refused(message));

test("a refusal is shown until an action of the same source succeeds", async () => {
  const guarded = guard(() => 1);
  await guarded(refused("no checks"), "checks")();
  assert.deepEqual(trouble, { hidden: false, textContent: "no checks" });
  await guarded(() => null, "charts")();
  assert.equal(trouble.hidden, false);
  await guarded(() => null, "checks")();
  assert.equal(trouble.hidden, true);
});

test("an earlier call that succeeds late does not hide a refusal", async () => {
  const guarded = guard(() => 1);
  let succeed = null;
  const answered = new Promise((done) => {
    succeed = done;
  });
  const early = guarded(() => answered, "choice")();
  await guarded(refused("no choice"), "choice")();
  succeed();
  await early;
  assert.equal(trouble.hidden, false);
});

test("a refusal is not shown once another campaign is open; a bug always surfaces", async () => {
  let opened = 1;
  const guarded = guard(() => opened);
  const late = guarded(refused("too late"))();
  const bug = guarded(() => Promise.reject(new TypeError("a bug")))();
  opened = 2;
  await late;
  assert.equal(trouble.hidden, true);
  await assert.rejects(bug, TypeError);
});

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
