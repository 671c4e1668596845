"""Object stores, the lease on a cluster, and the base of JSON artifacts."""
