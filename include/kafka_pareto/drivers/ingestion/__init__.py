"""Run the driver `ingestion`, and send files of users' own in the way that it measures."""
