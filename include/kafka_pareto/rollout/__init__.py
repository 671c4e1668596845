"""Settings in force: versions, approvals, and the files that producers read."""
