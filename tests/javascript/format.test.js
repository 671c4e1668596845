import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import { ago, counted, duration, moment, shown } from "../../plugins/kafka_pareto_explorer/format.js";

before(() => {
  mock.timers.enable({ apis: ["Date"], now: Date.parse("2026-05-04T12:00:00Z") });
});
after(() => {
  mock.timers.reset();
});

test("a value has its unit and no more digits than it deserves", () => {
  assert.equal(shown("p95_latency_ms", 12.345), "12.3 ms");
  assert.equal(shown("p95_latency_ms", 12), "12.0 ms");
  assert.equal(shown("throughput_mib_s", 1234.56), "1,235 MiB/s");
  assert.equal(shown("latency_cv", 0.123_45), "0.123");
  assert.equal(shown("throughput_mib_s", 0), "0.0 MiB/s");
  assert.equal(shown("packets_per_event", 2.25), "2.3");
});

test("what is not known is a dash and never a zero", () => {
  for (const value of [null, undefined]) {
    assert.equal(shown("p95_latency_ms", value), "-");
    assert.equal(shown("latency_cv", value), "-");
  }
});

test("one is one and all others are several", () => {
  assert.equal(counted(1, "trial"), "1 trial");
  assert.equal(counted(0, "trial"), "0 trials");
  assert.equal(counted(12_000, "repetition"), "12,000 repetitions");
});

test("a duration is in minutes up to an hour and a half, then in hours", () => {
  assert.equal(duration(29), "under a minute");
  assert.equal(duration(31), "1 min");
  assert.equal(duration(89 * 60), "89 min");
  assert.equal(duration(90 * 60), "1.5 h");
});

test("how long ago something was is told from now, and never from the future", () => {
  assert.equal(ago("2026-05-04T11:59:15Z"), "45 s ago");
  assert.equal(ago("2026-05-04T11:50:00Z"), "10 min ago");
  assert.equal(ago("2026-05-03T12:00:00Z"), "24.0 h ago");
  assert.equal(ago("2026-05-01T12:00:00Z"), "3 days ago");
  assert.equal(ago("2026-05-04T12:00:30Z"), "0 s ago");
});

test("a moment has its day and its time", () => {
  assert.match(moment("2026-05-04T12:34:00"), /2026.*12.34/u);
});
