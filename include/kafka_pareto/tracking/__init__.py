"""Track runs, models and champions in MLflow. No other package imports mlflow."""
