import assert from "node:assert/strict";
import { test } from "node:test";
import { boundAt, limitOf, positionOf, stepsOf } from "../../plugins/kafka_pareto_explorer/requirements.js";

const LATENCY = "p95_latency_ms";
const THROUGHPUT = "throughput_mib_s";
const pointsOf = (objective, values) => values.map((value) => ({ design: { values: { [objective]: value } } }));

test("steps are the measured values, ascending, each once", () => {
  assert.deepEqual(stepsOf(pointsOf(LATENCY, [30, 5, 30, null, 120]), LATENCY, false), [5, 30, 120]);
});

test("a step is rounded to three digits so that its value passes", () => {
  assert.deepEqual(stepsOf(pointsOf(LATENCY, [12.341, 1234.5, 0.012_341]), LATENCY, false), [0.0124, 12.4, 1240]);
  assert.deepEqual(stepsOf(pointsOf(THROUGHPUT, [12.349, 1239.9]), THROUGHPUT, true), [12.3, 1230]);
});

test("without values above zero there are no steps", () => {
  assert.deepEqual(stepsOf(pointsOf(LATENCY, [null, 0]), LATENCY, false), []);
  assert.deepEqual(stepsOf([{ estimated: { [LATENCY]: 3 } }], LATENCY, false), []);
});

test("one end of a slider means no limit: right for an upper bound, left for a lower", () => {
  assert.equal(boundAt([5, 30, 120], false, 3), "");
  assert.equal(boundAt([5, 30, 120], true, 0), "");
  assert.equal(positionOf([5, 30, 120], false, ""), 3);
  assert.equal(positionOf([5, 30, 120], true, ""), 0);
});

test("a typed limit of zero or below is none", () => {
  assert.deepEqual(["0", "-3", "", null].map(limitOf), ["", "", "", ""]);
  assert.equal(limitOf("0.5"), "0.5");
});

test("positions and bounds convert back and forth", () => {
  for (const atLeast of [false, true]) {
    for (let position = 0; position <= 3; position += 1) {
      assert.equal(positionOf([5, 30, 120], atLeast, String(boundAt([5, 30, 120], atLeast, position))), position);
    }
  }
});

test("a typed bound between two steps maps to the step with the same remaining configurations", () => {
  assert.equal(positionOf([5, 30, 120], false, "20"), 1);
  assert.equal(positionOf([5, 30, 120], true, "40"), 2);
});

test("a typed bound beyond all steps maps to the strictest step", () => {
  assert.equal(positionOf([5, 30, 120], false, "1000"), 2);
  assert.equal(positionOf([5, 30, 120], true, "1000"), 3);
  assert.equal(positionOf([5, 30, 120], false, "1"), 0);
});
