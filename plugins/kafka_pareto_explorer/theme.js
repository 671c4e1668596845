// Light or dark, as Airflow's user chose it or as the system has it.

const DARK = "(prefers-color-scheme: dark)";

export function themeOf(stored, systemIsDark) {
  if (stored === "light" || stored === "dark") return stored;
  return systemIsDark ? "dark" : "light";
}

/** Sets the page's theme, now and whenever it changes, and has drawn again what does not change by itself. */
export function followTheme(redraw) {
  const set = () => {
    // Airflow keeps its user's choice there, where the same origin may read it.
    document.documentElement.dataset.theme = themeOf(localStorage.getItem("theme"), matchMedia(DARK).matches);
    redraw();
  };
  set();
  matchMedia(DARK).addEventListener("change", set);
  addEventListener("storage", set);
}
