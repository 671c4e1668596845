// Requests to the explorer's API, and to Airflow's API with the user's session.

export class Refused extends Error {}

/** A temporary failure: retrying may succeed. */
export class Unanswered extends Refused {}

/** Return the previous value while Airflow does not respond. */
export const keptWhere = (before) => (error) => {
  if (error instanceof Unanswered) return before;
  throw error;
};

const AIRFLOW = "../api/v2";
const POLL_MS = 1000;
const RUN_AFTER = /^(?<day>\S+?)T(?<time>[\d:]+)(?:\.(?<fraction>\d+))?/u;

async function said(answer) {
  const { detail } = await answer.json().catch(() => ({}));
  if (Array.isArray(detail)) return detail.map((each) => each.msg).join("; ");
  return typeof detail === "string" ? detail : `Airflow returned HTTP ${answer.status}.`;
}

async function send(path, options) {
  let answer;
  try {
    answer = await fetch(path, options);
  } catch (cause) {
    throw new Unanswered("Airflow is not responding.", { cause });
  }
  if (answer.status === 401) throw new Refused("You are logged out of Airflow. Log in, then reload this page.");
  return answer;
}

export async function ask(path) {
  const answer = await send(path, { headers: { Accept: "application/json" } });
  if (answer.ok) return answer.json();
  throw new (answer.status >= 500 ? Unanswered : Refused)(await said(answer));
}

export const inForcePath = (study, size) => `api/in-force/${encodeURIComponent(study)}/${size}`;

/** Return whether a run belongs to a campaign; a campaign without a name is named after its run's `run_after` time. */
function runs(run, study, campaign) {
  const named = run.conf?.campaign;
  if (named) return named === campaign && (run.conf.study ?? study) === study;
  const { day, time, fraction = "" } = RUN_AFTER.exec(run.run_after)?.groups ?? {};
  return day && `${day.replaceAll("-", "")}T${time.replaceAll(":", "")}-${fraction.padEnd(6, "0")}` === campaign;
}

/** Return the campaign's latest matching run among Airflow's last 100; null without one, or without permission. */
export async function runOf(dag, study, campaign, isSuch = () => true) {
  const answer = await send(`${AIRFLOW}/dags/${encodeURIComponent(dag)}/dagRuns?order_by=-run_after&limit=100`);
  if (answer.status >= 500) throw new Unanswered(await said(answer));
  if (!answer.ok) return null;
  const { dag_runs: found } = await answer.json();
  return found.find((run) => runs(run, study, campaign) && isSuch(run)) ?? null;
}

/** Return the address of the question a run waits for; null without one, or without permission. */
export async function questionOf(run) {
  const path = `dagRuns/${encodeURIComponent(run.dag_run_id)}/hitlDetails?response_received=false`;
  const answer = await send(`${AIRFLOW}/dags/${run.dag_id}/${path}`);
  if (answer.status >= 500) throw new Unanswered(await said(answer));
  const [asked] = answer.ok ? (await answer.json()).hitl_details : [];
  return asked ? `${runAddress(run)}/tasks/${asked.task_instance.task_id}/required_actions` : null;
}

const isUnfinished = (run) => run?.state === "queued" || run?.state === "running";

/** Return whether a decided campaign awaits approval, and the address of the question, asked by a separate run. */
export async function waitingOf(tuneDag, settingsDag, study, campaign) {
  const isOpen = isUnfinished(await runOf(tuneDag, study, campaign));
  const asked = await runOf(settingsDag, study, campaign, (run) => run.conf?.action === "ask");
  const question = isUnfinished(asked) ? await questionOf(asked) : null;
  return { waits: isOpen || isUnfinished(asked), question };
}

export const runAddress = (run) => `../dags/${run.dag_id}/runs/${encodeURIComponent(run.dag_run_id)}`;

/** Trigger the DAG that changes the active settings, and report its run, or why it is unknown, until it ends. */
export async function moveSettings(dag, conf, tell) {
  const address = `${AIRFLOW}/dags/${encodeURIComponent(dag)}/dagRuns`;
  const unknown = (why) =>
    new Refused(`The change may have started: check the runs of ${dag} before you retry. ${why}`);
  const answer = await send(address, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ logical_date: null, conf }),
  }).catch((error) => {
    throw error instanceof Unanswered ? unknown(error.message) : error;
  });
  if (answer.status === 403)
    throw new Refused(
      `You have read access only. To change the active settings, you need permission to trigger ${dag} in Airflow.`,
    );
  if (answer.status === 404) throw new Refused(`Airflow has no DAG ${dag}; no change was made.`);
  if (answer.status >= 500) throw unknown(await said(answer));
  if (!answer.ok) throw new Refused(`No change was made: ${await said(answer)}`);
  let run = await answer.json();
  tell(run);
  while (isUnfinished(run)) {
    // biome-ignore lint/performance/noAwaitInLoops: polls the run
    await new Promise((done) => {
      setTimeout(done, POLL_MS);
    });
    try {
      run = await ask(`${address}/${encodeURIComponent(run.dag_run_id)}`);
      tell(run);
    } catch (error) {
      if (!(error instanceof Unanswered)) throw error;
      tell(run, error.message);
    }
  }
  return run;
}

/** Return the last error that the run's failed task logged; empty if unreadable. */
export async function failureOf(run) {
  const address = `${AIRFLOW}/dags/${run.dag_id}/dagRuns/${encodeURIComponent(run.dag_run_id)}/taskInstances`;
  const listed = await send(address);
  const tasks = listed.ok ? (await listed.json()).task_instances : [];
  const failed = tasks.find((task) => task.state === "failed");
  if (!failed) return "";
  const log = await send(`${address}/${failed.task_id}/logs/${failed.try_number}`, {
    headers: { Accept: "application/json" },
  });
  const lines = log.ok ? (await log.json()).content.map((line) => line.event ?? "") : [];
  return lines.findLast((line) => line.startsWith("error: "))?.slice("error: ".length) ?? "";
}
