"""kafka-pareto: finds the best producer settings for a Kafka cluster, measured on the cluster itself."""
