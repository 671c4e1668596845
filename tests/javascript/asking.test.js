// Runs against a server that imitates Airflow's API. As in a browser, addresses are relative to the page's.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, beforeEach, test } from "node:test";
import {
  ask,
  failureOf,
  inForcePath,
  keptWhere,
  moveSettings,
  questionOf,
  Refused,
  runAddress,
  runOf,
  Unanswered,
  waitingOf,
} from "../../plugins/kafka_pareto_explorer/asking.js";

const RUNS = "/api/v2/dags/settings_in_force/dagRuns";
const RUN = { dag_id: "settings_in_force", dag_run_id: "manual__1+2", state: "queued" };
const answers = new Map();
const requests = [];
const { fetch } = globalThis;

const server = createServer(async (request, response) => {
  const body = (await request.toArray()).join("");
  requests.push({ method: request.method, path: request.url, body });
  const waiting = answers.get(`${request.method} ${request.url}`) ?? [[404, { detail: "Not Found" }]];
  const [status, content] = waiting.length > 1 ? waiting.shift() : waiting[0];
  if (status === 0) return request.socket.destroy();
  response.writeHead(status, { "Content-Type": "application/json", Connection: "close" });
  return response.end(typeof content === "string" ? content : JSON.stringify(content));
});

/** What the server says to a request, one answer after another; the last one stays. Status 0 hangs up. */
const says = (request, ...inTurn) => answers.set(request, inTurn);

before(async () => {
  await new Promise((listening) => {
    server.listen(0, "127.0.0.1", listening);
  });
  const page = `http://127.0.0.1:${server.address().port}/kafka-pareto/`;
  globalThis.fetch = (path, options) => fetch(new URL(path, page), options);
});
beforeEach(() => {
  answers.clear();
  requests.length = 0;
});
after(() => {
  globalThis.fetch = fetch;
  server.close();
});

const refusal = (type, message) => (error) => {
  assert.equal(error.constructor, type);
  assert.match(error.message, message);
  return true;
};

test("a request returns the server's JSON", async () => {
  says("GET /kafka-pareto/api/campaigns", [200, [{ study: "quick" }]]);

  assert.deepEqual(await ask("api/campaigns"), [{ study: "quick" }]);
});

test("a refusal states the server's reason if there is one", async () => {
  says("GET /kafka-pareto/a", [404, { detail: "There is no such campaign." }]);
  says("GET /kafka-pareto/b", [422, { detail: [{ msg: "too long" }, { msg: "no number" }] }]);
  says("GET /kafka-pareto/c", [400, "<html>"]);
  says("GET /kafka-pareto/d", [401, {}]);
  says("GET /kafka-pareto/e", [403, { detail: "You need permission to read the DAG tune_producer_berlin." }]);

  await assert.rejects(ask("a"), refusal(Refused, /^There is no such campaign\.$/u));
  await assert.rejects(ask("b"), refusal(Refused, /^too long; no number$/u));
  await assert.rejects(ask("c"), refusal(Refused, /^Airflow returned HTTP 400\.$/u));
  await assert.rejects(ask("d"), refusal(Refused, /logged out/u));
  await assert.rejects(ask("e"), refusal(Refused, /permission to read the DAG tune_producer_berlin/u));
});

test("a server error or a closed connection counts as temporary", async () => {
  says("GET /kafka-pareto/a", [503, { detail: "The store does not answer." }]);
  says("GET /kafka-pareto/b", [0]);

  await assert.rejects(ask("a"), refusal(Unanswered, /store does not answer/u));
  await assert.rejects(ask("b"), refusal(Unanswered, /^Airflow is not responding\.$/u));
});

test("the previous value is kept on temporary failures only", () => {
  assert.equal(keptWhere("before")(new Unanswered("later")), "before");
  assert.throws(() => keptWhere("before")(new Refused("no")), Refused);
});

test("names in an address are encoded", () => {
  assert.equal(inForcePath("a/b", 1024), "api/in-force/a%2Fb/1024");
  assert.equal(runAddress(RUN), "../dags/settings_in_force/runs/manual__1%2B2");
});

test("a campaign's run is found by the campaign's name, or by the run's time for an unnamed campaign", async () => {
  const path = "GET /api/v2/dags/tune_producer/dagRuns?order_by=-run_after&limit=100";
  const named = { dag_run_id: "1", conf: { campaign: "mine", study: "paper" }, run_after: "2026-05-04T12:34:56Z" };
  const unnamed = { dag_run_id: "2", conf: null, run_after: "2026-05-04T12:34:56.789Z" };
  const whole = { dag_run_id: "3", conf: {}, run_after: "2026-05-05T01:02:03+00:00" };
  says(path, [200, { dag_runs: [named, unnamed, whole] }]);
  const found = async (study, campaign) => (await runOf("tune_producer", study, campaign))?.dag_run_id ?? null;

  assert.equal(await found("paper", "mine"), "1");
  assert.equal(await found("quick", "mine"), null);
  assert.equal(await found("quick", "20260504T123456-789000"), "2");
  assert.equal(await found("quick", "20260505T010203-000000"), "3");
  assert.equal(await found("quick", "20260504T123456-000000"), null);
  assert.equal(await runOf("tune_producer", "paper", "mine", (run) => run.conf.action === "ask"), null);
});

test("a user without permission sees no runs; a server error is not an empty list", async () => {
  const path = "GET /api/v2/dags/tune_producer/dagRuns?order_by=-run_after&limit=100";
  says(path, [403, {}]);
  assert.equal(await runOf("tune_producer", "quick", "c1"), null);
  says(path, [500, { detail: "broken" }]);
  await assert.rejects(runOf("tune_producer", "quick", "c1"), refusal(Unanswered, /^broken$/u));
});

test("a campaign waits while its own run or the run that asks about it is unfinished", async () => {
  const runs = (dag) => `GET /api/v2/dags/${dag}/dagRuns?order_by=-run_after&limit=100`;
  const run = (state, action) => ({ ...RUN, state, conf: { campaign: "mine", study: "paper", action } });
  const waiting = () => waitingOf("tune_producer", "settings_in_force", "paper", "mine");
  says(runs("tune_producer"), [200, { dag_runs: [run("running")] }], [200, { dag_runs: [run("success")] }]);
  says(
    runs("settings_in_force"),
    [200, { dag_runs: [] }],
    [200, { dag_runs: [run("success", "accept"), run("running", "ask")] }],
    [200, { dag_runs: [run("success", "ask")] }],
  );
  says(`GET ${RUNS}/manual__1%2B2/hitlDetails?response_received=false`, [
    200,
    { hitl_details: [{ task_instance: { task_id: "approve" } }] },
  ]);
  assert.deepEqual(await waiting(), { waits: true, question: null });
  const question = "../dags/settings_in_force/runs/manual__1%2B2/tasks/approve/required_actions";
  assert.deepEqual(await waiting(), { waits: true, question });
  assert.deepEqual(await waiting(), { waits: false, question: null });
});

test("an open question has the address of its answer form", async () => {
  const path = `GET ${RUNS}/manual__1%2B2/hitlDetails?response_received=false`;
  says(path, [200, { hitl_details: [{ task_instance: { task_id: "approve" } }] }]);
  assert.equal(await questionOf(RUN), "../dags/settings_in_force/runs/manual__1%2B2/tasks/approve/required_actions");
  says(path, [200, { hitl_details: [] }]);
  assert.equal(await questionOf(RUN), null);
  says(path, [403, {}]);
  assert.equal(await questionOf(RUN), null);
});

test("moving the settings triggers the DAG of their cluster and follows its run to the end, across an outage", async () => {
  says(`POST ${RUNS}`, [200, RUN]);
  says(`GET ${RUNS}/manual__1%2B2`, [500, { detail: "restarting" }], [200, { ...RUN, state: "success" }]);
  const reported = [];
  const conf = { action: "accept", study: "quick" };
  const run = await moveSettings("settings_in_force", conf, (each, silence) => reported.push([each.state, silence]));

  assert.equal(run.state, "success");
  assert.deepEqual(reported, [
    ["queued", undefined],
    ["queued", "restarting"],
    ["success", undefined],
  ]);
  assert.deepEqual(JSON.parse(requests[0].body), { logical_date: null, conf });
});

test("a move that Airflow refuses reports that no change was made, unless a server error leaves it open", async () => {
  const move = () => moveSettings("settings_in_force", {}, assert.fail);
  says(`POST ${RUNS}`, [403, {}], [404, {}], [409, { detail: "It is paused." }], [502, "<html>"]);

  await assert.rejects(move(), refusal(Refused, /read access only/u));
  await assert.rejects(move(), refusal(Refused, /no DAG settings_in_force; no change was made/u));
  await assert.rejects(move(), refusal(Refused, /^No change was made: It is paused\.$/u));
  await assert.rejects(move(), refusal(Refused, /^The change may have started: check the runs of settings_in_force /u));
});

test("the reason of a failed run is its failed task's last error", async () => {
  const tasks = `${RUNS}/manual__1%2B2/taskInstances`;
  says(`GET ${tasks}`, [
    200,
    {
      task_instances: [
        { task_id: "ask", state: "success" },
        { task_id: "move", state: "failed", try_number: 2 },
      ],
    },
  ]);
  says(`GET ${tasks}/move/logs/2`, [
    200,
    { content: [{ event: "error: the first" }, { event: "error: the last" }, { timestamp: "now" }] },
  ]);
  assert.equal(await failureOf(RUN), "the last");
  says(`GET ${tasks}/move/logs/2`, [403, {}]);
  assert.equal(await failureOf(RUN), "");
  says(`GET ${tasks}`, [200, { task_instances: [] }]);
  assert.equal(await failureOf(RUN), "");
});
