"""What DAGs and the plugin share. Imports Airflow and nothing heavy; knows the steps by their command lines only."""
