"""Check whether a candidate's settings satisfy a study's conditions, measured beside reference settings."""
