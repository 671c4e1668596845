"""Serve the explorer in Airflow's web server."""
