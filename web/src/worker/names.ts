// What the worker and the page both name: the caches that it fills and the page may empty, and what it
// says to the page.
export const DATA_CACHE = "trunkline-data";
export const SHELL_CACHE_PREFIX = "trunkline-shell-";
/** What was shown as it was kept has changed since: the server's answer came late. */
export const FRESHER = "trunkline-fresher";
