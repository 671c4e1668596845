package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;

/** The few of a producer's own metrics that tell where the latency goes. */
final class ClientMetrics {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<String> NAMES = Set.of(
            "batch-size-avg",
            "buffer-exhausted-total",
            "bufferpool-wait-time-ns-total",
            "compression-rate-avg",
            "produce-throttle-time-max",
            "record-queue-time-avg",
            "record-queue-time-max",
            "record-retry-total",
            "records-per-request-avg",
            "request-latency-avg",
            "request-latency-max");

    private ClientMetrics() {
    }

    /** Returns those that have a finite value; Kafka gives NaN where nothing was measured. */
    static ObjectNode read(Map<MetricName, ? extends Metric> metrics) {
        ObjectNode found = JSON.createObjectNode();
        for (Map.Entry<MetricName, ? extends Metric> entry : metrics.entrySet()) {
            MetricName name = entry.getKey();
            if (name.group().equals("producer-metrics")
                    && NAMES.contains(name.name())
                    && entry.getValue().metricValue() instanceof Double number
                    && Double.isFinite(number)) {
                found.put(name.name(), number);
            }
        }
        return found;
    }

    /** Kafka counts totals from the producer's first record on; those of the warm-up are no part of what is measured. */
    static ObjectNode withTotalsSince(ObjectNode before, ObjectNode now) {
        for (String name : NAMES) {
            if (name.endsWith("-total") && now.has(name)) {
                now.put(name, now.get(name).asDouble() - before.path(name).asDouble());
            }
        }
        return now;
    }
}
