"""Stores artifacts: object stores, the lease on a cluster, and the base of JSON artifacts."""
