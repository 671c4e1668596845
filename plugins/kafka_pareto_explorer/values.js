// Format configurations, values, times and units as the cards do.

export const pointOf = (view, id) => view.points.find((point) => point.configuration_id === id);

function measuredRole(point) {
  if (point.confirmed) return point.on_measured_front ? "confirmed, on the measured front" : "confirmed";
  return point.design ? `round ${point.round ?? 0}` : "estimated only";
}

export function roleOf(view, point) {
  const isNamed = point.configuration_id === view.recommended_id;
  if (point.configuration_id === view.in_force_id) return `active during the campaign (v${view.in_force_version})`;
  if (point.is_baseline && isNamed) return view.in_force_id === null ? "baseline, kept" : "baseline, recommended";
  if (point.is_baseline) return "baseline";
  if (isNamed) return "recommended";
  return point.configuration_id === view.pick_id ? "pick" : measuredRole(point);
}

export function settingsOf(point) {
  return Object.entries(point.factors)
    .map(([name, value]) => `${name}=${value}`)
    .join(", ");
}

export const label = (view, point) => `${point.configuration_id} (${roleOf(view, point)}): ${settingsOf(point)}`;

/** Measurements from the confirmation, else from the design. */
export const measuredOf = (point) => point.confirmed ?? point.design;

export const measuredValue = (point, objective) => measuredOf(point)?.values[objective] ?? null;

export function shown({ unit }, value) {
  if (value === null || value === undefined) return "-";
  if (!unit) return value.toFixed(3);
  const digits = value >= 1000 ? 0 : 1;
  return `${value.toLocaleString("en", { maximumFractionDigits: digits, minimumFractionDigits: digits })} ${unit}`;
}

export const counted = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export function duration(seconds) {
  const minutes = Math.round(seconds / 60);
  if (minutes < 1) return "under a minute";
  return minutes < 90 ? `${minutes} min` : `${(minutes / 60).toFixed(1)} h`;
}

export const moment = (iso) => new Date(iso).toLocaleString([], { dateStyle: "medium", timeStyle: "short" });

export function ago(iso) {
  const seconds = Math.max((Date.now() - new Date(iso)) / 1000, 0);
  if (seconds < 90) return `${Math.round(seconds)} s ago`;
  return seconds < 48 * 3600 ? `${duration(seconds)} ago` : `${Math.round(seconds / 86_400)} days ago`;
}
