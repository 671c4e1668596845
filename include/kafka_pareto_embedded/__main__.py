from kafka_pareto_embedded.cli import app

app(prog_name="kafka_pareto_embedded")
