import assert from "node:assert/strict";
import { test } from "node:test";
import { boundAt, positionOf, stepsOf } from "../../plugins/kafka_pareto_explorer/requirements.js";

const LATENCY = "p95_latency_ms";
const THROUGHPUT = "throughput_mib_s";
const pointsOf = (objective, values) => values.map((value) => ({ design: { values: { [objective]: value } } }));

test("steps are the measured values, ascending, each once", () => {
  assert.deepEqual(stepsOf(pointsOf(LATENCY, [30, 5, 30, null, 120]), LATENCY, false), [5, 30, 120]);
});

test("a step is rounded to three digits towards what lets its value in", () => {
  assert.deepEqual(stepsOf(pointsOf(LATENCY, [12.341, 1234.5, 0.012_341]), LATENCY, false), [0.0124, 12.4, 1240]);
  assert.deepEqual(stepsOf(pointsOf(THROUGHPUT, [12.349, 1239.9]), THROUGHPUT, true), [12.3, 1230]);
});

test("nothing measured, or nothing but zero, gives no step", () => {
  assert.deepEqual(stepsOf(pointsOf(LATENCY, [null, 0]), LATENCY, false), []);
  assert.deepEqual(stepsOf([{ estimated: { [LATENCY]: 3 } }], LATENCY, false), []);
});

test("the free end of a slider asks for nothing: the right one of an upper bound, the left one of a lower", () => {
  assert.equal(boundAt([5, 30, 120], false, 3), "");
  assert.equal(boundAt([5, 30, 120], true, 0), "");
  assert.equal(positionOf([5, 30, 120], false, ""), 3);
  assert.equal(positionOf([5, 30, 120], true, ""), 0);
});

test("every position leads to its bound and back", () => {
  for (const atLeast of [false, true]) {
    for (let position = 0; position <= 3; position += 1) {
      assert.equal(positionOf([5, 30, 120], atLeast, String(boundAt([5, 30, 120], atLeast, position))), position);
    }
  }
});

test("a typed bound between two steps takes the one that leaves in what it does", () => {
  assert.equal(positionOf([5, 30, 120], false, "20"), 1);
  assert.equal(positionOf([5, 30, 120], true, "40"), 2);
});

test("a typed bound beyond all steps stays at the end that is no free one", () => {
  assert.equal(positionOf([5, 30, 120], false, "1000"), 2);
  assert.equal(positionOf([5, 30, 120], true, "1000"), 3);
  assert.equal(positionOf([5, 30, 120], false, "1"), 0);
});
