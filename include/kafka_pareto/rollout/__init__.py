"""Active settings: versions, approvals, and the files that clients read."""
