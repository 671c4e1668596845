"""Decision cards and the report of a campaign."""
