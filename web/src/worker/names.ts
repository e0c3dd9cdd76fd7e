// Of the caches that the worker fills and the page may empty.
export const DATA_CACHE = "trunkline-data";
export const SHELL_CACHE_PREFIX = "trunkline-shell-";
