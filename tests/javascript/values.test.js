import assert from "node:assert/strict";
import { after, before, mock, test } from "node:test";
import {
  ago,
  counted,
  duration,
  label,
  measuredOf,
  measuredValue,
  moment,
  pointOf,
  roleOf,
  settingsOf,
  shown,
} from "../../plugins/kafka_pareto_explorer/values.js";
import { BASELINE, DESIGNED, ESTIMATED, OBJECTIVES, RECOMMENDED, VIEW } from "./view.js";

const { p95_latency_ms: LATENCY, throughput_mib_s: THROUGHPUT, latency_cv: LATENCY_CV } = OBJECTIVES;

before(() => {
  mock.timers.enable({ apis: ["Date"], now: Date.parse("2026-05-04T12:00:00Z") });
});
after(() => {
  mock.timers.reset();
});

test("the confirmation's measurements take precedence over the design's", () => {
  assert.equal(measuredValue(RECOMMENDED, "p95_latency_ms"), 8);
  assert.equal(measuredValue(DESIGNED, "p95_latency_ms"), 40);
  assert.equal(measuredOf(BASELINE).repetitions, 20);
});

test("a configuration that is only estimated has no measurement", () => {
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
  assert.equal(roleOf({ ...VIEW, recommended_id: "c0" }, BASELINE), "baseline, kept");
  assert.equal(roleOf(VIEW, RECOMMENDED), "recommended");
  assert.equal(roleOf({ ...VIEW, recommended_id: null, pick_id: "c1" }, RECOMMENDED), "pick");
  assert.equal(roleOf({ ...VIEW, recommended_id: null }, RECOMMENDED), "confirmed, on the measured front");
  assert.equal(roleOf({ ...VIEW, recommended_id: null }, { ...RECOMMENDED, on_measured_front: false }), "confirmed");
  assert.equal(
    roleOf({ ...VIEW, in_force_id: "c1", in_force_version: 3 }, RECOMMENDED),
    "active during the campaign (v3)",
  );
  assert.equal(roleOf({ ...VIEW, in_force_id: "c1", recommended_id: "c0" }, BASELINE), "baseline, recommended");
  assert.equal(roleOf({ ...VIEW, in_force_id: "c1", recommended_id: "c1" }, BASELINE), "baseline");
  assert.equal(roleOf(VIEW, DESIGNED), "round 0");
  assert.equal(roleOf(VIEW, { ...DESIGNED, round: 2 }), "round 2");
  assert.equal(roleOf(VIEW, ESTIMATED), "estimated only");
});

test("a label has the ID, role and settings", () => {
  assert.equal(settingsOf(DESIGNED), "batch.size=1024, compression.type=none");
  assert.equal(label(VIEW, DESIGNED), "c2 (round 0): batch.size=1024, compression.type=none");
});

test("a value has its unit and a suitable number of digits", () => {
  assert.equal(shown(LATENCY, 12.345), "12.3 ms");
  assert.equal(shown(LATENCY, 12), "12.0 ms");
  assert.equal(shown(THROUGHPUT, 1234.56), "1,235 MiB/s");
  assert.equal(shown(LATENCY_CV, 0.123_45), "0.123");
  assert.equal(shown(THROUGHPUT, 0), "0.0 MiB/s");
});

test("an unknown value is a dash, not a zero", () => {
  for (const value of [null, undefined]) {
    assert.equal(shown(LATENCY, value), "-");
    assert.equal(shown(LATENCY_CV, value), "-");
  }
});

test("only 1 takes the singular", () => {
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

test("ages are relative to now and never negative", () => {
  assert.equal(ago("2026-05-04T11:59:15Z"), "45 s ago");
  assert.equal(ago("2026-05-04T11:50:00Z"), "10 min ago");
  assert.equal(ago("2026-05-03T12:00:00Z"), "24.0 h ago");
  assert.equal(ago("2026-05-01T12:00:00Z"), "3 days ago");
  assert.equal(ago("2026-05-04T12:00:30Z"), "0 s ago");
});

test("a moment has a date and a time", () => {
  assert.match(moment("2026-05-04T12:34:00"), /2026.*12.34/u);
});
