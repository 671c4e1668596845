"""Active settings: versions, approvals, and the files that producers read."""
