import assert from "node:assert/strict";
import { test } from "node:test";
import { isLogarithmic, isMaximised, unitOf } from "../../plugins/kafka_pareto_explorer/objectives.js";

test("a share has no unit", () => {
  assert.equal(unitOf("p95_latency_ms"), "ms");
  assert.equal(unitOf("throughput_mib_s"), "MiB/s");
  assert.equal(unitOf("throughput_cv"), "");
});

test("only throughput is wanted high", () => {
  for (const objective of ["throughput_mib_s", "committed_events_s"]) assert.equal(isMaximised(objective), true);
  for (const objective of ["p95_latency_ms", "latency_cv", "latency_p95_ms"]) {
    assert.equal(isMaximised(objective), false);
  }
});

test("an objective that the page does not know has no unit, and is wanted low on an even axis", () => {
  assert.deepEqual(
    ["unknown"].map((name) => [unitOf(name), isMaximised(name), isLogarithmic(name)]),
    [["", false, false]],
  );
});
