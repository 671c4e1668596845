import assert from "node:assert/strict";
import { test } from "node:test";
import {
  label,
  measuredOf,
  measuredValue,
  pointOf,
  roleOf,
  settingsOf,
} from "../../plugins/kafka_pareto_explorer/configurations.js";
import { BASELINE, DESIGNED, ESTIMATED, RECOMMENDED, VIEW } from "./view.js";

test("the confirmation's measurements count before the design's", () => {
  assert.equal(measuredValue(RECOMMENDED, "p95_latency_ms"), 8);
  assert.equal(measuredValue(DESIGNED, "p95_latency_ms"), 40);
  assert.equal(measuredOf(BASELINE).repetitions, 20);
});

test("what is only estimated was not measured", () => {
  assert.equal(measuredValue(ESTIMATED, "p95_latency_ms"), null);
  assert.equal(measuredValue(RECOMMENDED, "throughput_cv"), null);
});

test("a configuration is found by its id", () => {
  assert.equal(pointOf(VIEW, "c2"), DESIGNED);
  assert.equal(pointOf(VIEW, "c9"), undefined);
  assert.equal(pointOf(VIEW, null), undefined);
});

test("each configuration has one role", () => {
  assert.equal(roleOf(VIEW, BASELINE), "baseline");
  assert.equal(roleOf({ ...VIEW, recommended_id: "c0" }, BASELINE), "baseline, stays");
  assert.equal(roleOf(VIEW, RECOMMENDED), "recommended");
  assert.equal(roleOf({ ...VIEW, recommended_id: null, pick_id: "c1" }, RECOMMENDED), "pick");
  assert.equal(roleOf({ ...VIEW, recommended_id: null }, RECOMMENDED), "confirmed, on the measured front");
  assert.equal(roleOf({ ...VIEW, recommended_id: null }, { ...RECOMMENDED, on_measured_front: false }), "confirmed");
  assert.equal(roleOf({ ...VIEW, in_force_id: "c1", in_force_version: 3 }, RECOMMENDED), "in force then (v3)");
  assert.equal(roleOf({ ...VIEW, in_force_id: "c1", recommended_id: "c0" }, BASELINE), "baseline, recommended");
  assert.equal(roleOf({ ...VIEW, in_force_id: "c1", recommended_id: "c1" }, BASELINE), "baseline");
  assert.equal(roleOf(VIEW, DESIGNED), "round 0");
  assert.equal(roleOf(VIEW, { ...DESIGNED, round: 2 }), "round 2");
  assert.equal(roleOf(VIEW, ESTIMATED), "estimated only");
});

test("a label holds id, role and settings", () => {
  assert.equal(settingsOf(DESIGNED), "batch.size=1024, compression.type=none");
  assert.equal(label(VIEW, DESIGNED), "c2 (round 0): batch.size=1024, compression.type=none");
});
