"""Our machine on somebody else's server: AGP and Yeaft instead of a Trunkline control plane."""
