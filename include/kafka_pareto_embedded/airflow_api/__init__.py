"""A client for Airflow's REST API, with typed responses."""
