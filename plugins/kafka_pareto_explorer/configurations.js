// What is known of one configuration, read from the server's view of a record size.

export const pointOf = (view, id) => view.points.find((point) => point.configuration_id === id);

function measuredRole(point) {
  if (point.confirmed) return point.on_measured_front ? "confirmed, on the measured front" : "confirmed";
  return point.design ? `round ${point.round ?? 0}` : "estimated only";
}

/** What a configuration is, in a word or two. */
export function roleOf(view, point) {
  const isNamed = point.configuration_id === view.recommended_id;
  if (point.configuration_id === view.in_force_id) return `in force then (v${view.in_force_version})`;
  if (point.is_baseline && isNamed) return view.in_force_id === null ? "baseline, stays" : "baseline, recommended";
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

/** What was measured of it: in the confirmation, or else in the design; nothing of what is only estimated. */
export const measuredOf = (point) => point.confirmed ?? point.design;

export const measuredValue = (point, objective) => measuredOf(point)?.values[objective] ?? null;
