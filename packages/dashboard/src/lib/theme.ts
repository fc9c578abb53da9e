const STORED = "boxyard-theme";

/** Uses the theme that the person has chosen; by default that of the system. */
export function applyTheme(): void {
  const chosen = localStorage.getItem(STORED);
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
  else delete document.documentElement.dataset.theme;
}

export const isDark = (): boolean =>
  (document.documentElement.dataset.theme ?? (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";

/** Changes between light and dark, and keeps the choice. */
export function nextTheme(): void {
  localStorage.setItem(STORED, isDark() ? "light" : "dark");
  applyTheme();
  dispatchEvent(new Event("themechange"));
}
