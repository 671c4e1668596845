"""Runs of the pipeline: requested, followed and stopped through Airflow's API."""
