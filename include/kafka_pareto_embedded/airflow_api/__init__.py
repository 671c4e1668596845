"""Ask the REST API of an Airflow by one client, with typed answers."""
