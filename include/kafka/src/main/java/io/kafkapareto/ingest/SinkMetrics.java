package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Map;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;

/**
 * Metrics of one sink: how it sent its rows.
 *
 * @param sentBytes bytes sent over its connections, including requests and their headers
 * @param batchBytes mean size of a batch as sent
 * @param compressionRatio compressed over uncompressed size; 1 without a codec
 * @param blockedS how long sending threads waited for buffer space
 */
record SinkMetrics(
        double sentBytes, double requests, double batchBytes, double compressionRatio, double recordsPerRequest,
        double blockedS, double retries, double throttleMaxMs) {
    private static final double NS_PER_S = 1e9;
    private static final String PRODUCER = "producer-metrics";

    /** Read the metrics of the client's own producer. */
    static SinkMetrics ofProducer(Map<MetricName, ? extends Metric> metrics) {
        return new SinkMetrics(
                sentBytes(metrics, PRODUCER),
                value(metrics, "request-total"),
                value(metrics, "batch-size-avg"),
                value(metrics, "compression-rate-avg"),
                value(metrics, "records-per-request-avg"),
                value(metrics, "bufferpool-wait-time-ns-total") / NS_PER_S,
                value(metrics, "record-retry-total"),
                value(metrics, "produce-throttle-time-max"));
    }

    /** Read the bytes sent by a client's connections from the metrics of its network layer. */
    static double sentBytes(Map<MetricName, ? extends Metric> metrics, String group) {
        return value(metrics, group, "outgoing-byte-total");
    }

    private static double value(Map<MetricName, ? extends Metric> metrics, String name) {
        return value(metrics, PRODUCER, name);
    }

    private static double value(Map<MetricName, ? extends Metric> metrics, String group, String name) {
        return metrics.entrySet().stream()
                .filter(entry -> entry.getKey().group().equals(group) && entry.getKey().name().equals(name))
                .mapToDouble(entry -> (Double) entry.getValue().metricValue())
                .filter(Double::isFinite)
                .sum();
    }

    void describe(ObjectNode described) {
        described.put("sent_bytes", sentBytes)
                .put("requests", requests)
                .put("batch_bytes", batchBytes)
                .put("compression_ratio", compressionRatio)
                .put("records_per_request", recordsPerRequest)
                .put("blocked_s", blockedS)
                .put("retries", retries)
                .put("throttle_max_ms", throttleMaxMs);
    }
}
