"""Starts, follows and stops runs of the pipeline through Airflow's API."""
