// What the page needs to know of each objective that can be tuned: its unit, whether more is better, and its axis.

const KNOWN = {
  p95_latency_ms: { unit: "ms", logarithmic: true },
  throughput_mib_s: { unit: "MiB/s", maximised: true, logarithmic: true },
  latency_cv: {},
  throughput_cv: {},
  latency_p95_ms: { unit: "ms", logarithmic: true },
  committed_events_s: { unit: "events/s", maximised: true, logarithmic: true },
  cpu_s_per_thousand_events: { unit: "s per 1,000 events" },
  packets_per_event: {},
};

export const unitOf = (objective) => KNOWN[objective]?.unit ?? "";
export const isMaximised = (objective) => KNOWN[objective]?.maximised ?? false;
export const isLogarithmic = (objective) => KNOWN[objective]?.logarithmic ?? false;
