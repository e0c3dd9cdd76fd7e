// Runs before the first paint, so that nobody sees the other theme for a moment.
(() => {
  const root = document.documentElement;
  try {
    const theme = localStorage.getItem("trunkline.theme");
    if (theme === "light" || theme === "dark") root.dataset.theme = theme;
    const language = localStorage.getItem("trunkline.language") ?? navigator.language;
    root.lang = language.toLowerCase().startsWith("zh") ? "zh" : "en";
  } catch {
    // Storage may be forbidden; the system's choice stays.
  }
})();
