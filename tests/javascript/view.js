// The server's view of one case: the baseline, a recommended configuration, one from the design, one estimated.

const measured = (latency, throughput, repetitions = 10) => ({
  values: { p95_latency_ms: latency, throughput_mib_s: throughput, latency_cv: 0.1234, throughput_cv: null },
  repetitions,
});

const point = (id, factors, more) => ({
  configuration_id: id,
  factors,
  durability: "LEADER",
  rules_broken: [],
  advised_by: [],
  is_baseline: false,
  round: 0,
  design: null,
  confirmed: null,
  estimated: null,
  on_estimated_front: false,
  on_measured_front: false,
  chosen_as: [],
  ...more,
});

export const BASELINE = point(
  "c0",
  { "batch.size": 16_384, "compression.type": "none" },
  { is_baseline: true, design: measured(12.5, 80), confirmed: measured(10, 100, 20), chosen_as: ["the baseline"] },
);
export const RECOMMENDED = point(
  "c1",
  { "batch.size": 65_536, "compression.type": "lz4" },
  {
    design: measured(9, 110),
    confirmed: measured(8, 125.04, 20),
    estimated: { p95_latency_ms: 8.5, throughput_mib_s: 120, latency_cv: null, throughput_cv: null },
    on_estimated_front: true,
    on_measured_front: true,
    chosen_as: ["highest throughput"],
  },
);
export const DESIGNED = point(
  "c2",
  { "batch.size": 1024, "compression.type": "none" },
  { design: measured(40, 1234.5), durability: "NONE", rules_broken: ["batch.size >= record.size"] },
);
export const ESTIMATED = point(
  "c3",
  { "batch.size": 32_768, "compression.type": "lz4" },
  {
    round: null,
    estimated: { p95_latency_ms: 7, throughput_mib_s: 130, latency_cv: 0.1, throughput_cv: 0.1 },
    on_estimated_front: true,
  },
);

const about = (label, unit, more) => ({
  label,
  unit,
  maximised: false,
  is_spread: unit === "",
  logarithmic: unit !== "",
  ...more,
});

export const OBJECTIVES = {
  p95_latency_ms: about("p95 latency", "ms"),
  throughput_mib_s: about("throughput", "MiB/s", { maximised: true }),
  latency_cv: about("latency CV", ""),
  throughput_cv: about("throughput CV", ""),
};

export const VIEW = {
  objectives: OBJECTIVES,
  axes: [
    { name: "batch.size", levels: [], log_scale: true },
    { name: "compression.type", levels: ["none", "lz4"], log_scale: false },
  ],
  points: [BASELINE, RECOMMENDED, DESIGNED, ESTIMATED],
  durabilities: ["NONE", "LEADER"],
  rules: ["batch.size >= record.size"],
  limits: [],
  in_force_id: null,
  recommended_id: "c1",
  pick_id: null,
  estimated_front_points: 2,
};
