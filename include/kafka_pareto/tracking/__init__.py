"""MLflow: runs, models and champions. The only room that imports mlflow."""
