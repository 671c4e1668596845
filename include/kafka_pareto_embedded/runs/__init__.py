"""Start, follow and stop runs of the pipeline through Airflow's API."""
