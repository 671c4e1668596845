#!/bin/sh
# Fill in a broker's properties from the environment, format its storage before the first start, then exec Kafka.
set -eu
properties=/tmp/server.properties
envsubst < /opt/kafka/broker.properties > "$properties"
# The tool writes meta.properties last, so an interrupted formatting is repeated.
if [ ! -e "$data_folder/meta.properties" ]; then
  java -Xmx256m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -cp '/opt/kafka/jars/*' \
    io.kafkapareto.FormatStorage "$KAFKA_CLUSTER_ID" "$properties"
fi
if [ "${KAFKA_PARETO_METRICS:-False}" = True ]; then
  set -- "-javaagent:/opt/kafka/agent/jmx_prometheus_javaagent.jar=9404:/opt/kafka/agent/jmx-exporter.yaml"
fi
exec java "-Xms$KAFKA_HEAP" "-Xmx$KAFKA_HEAP" @/opt/kafka/broker.jvm -XX:ErrorFile=/tmp/hs_err_%p.log "$@" \
  -cp '/opt/kafka/jars/*' kafka.Kafka "$properties"
