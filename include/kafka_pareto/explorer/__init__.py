"""Builds what the explorer's page shows of a campaign."""
