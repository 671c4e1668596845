"""One client for the REST API of an Airflow, with typed answers."""
