"""Code that DAGs and the plugin share. Imports Airflow and nothing heavy; knows steps by their command lines only."""
