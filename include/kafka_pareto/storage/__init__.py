"""Where artifacts lie: object stores, the lease, and the base of JSON artifacts."""
