"""Name the resource that limited a load, from counters that were read while it ran."""
