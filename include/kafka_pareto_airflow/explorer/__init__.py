"""The explorer's routes in Airflow's web server."""
