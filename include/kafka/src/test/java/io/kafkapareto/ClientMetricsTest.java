package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.Map;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.junit.jupiter.api.Test;

class ClientMetricsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Map<MetricName, Metric> metrics = new LinkedHashMap<>();

    private record Read(MetricName metricName, Object metricValue) implements Metric {
    }

    private void has(String group, String name, Object value) {
        MetricName key = new MetricName(name, group, "", Map.of());
        metrics.put(key, new Read(key, value));
    }

    private static ObjectNode node(String text) throws Exception {
        return (ObjectNode) JSON.readTree(text);
    }

    @Test
    void onlyTheProducersOwnNumbersOfTheListAreRead() {
        has("producer-metrics", "batch-size-avg", 16_384.0);
        has("producer-metrics", "record-retry-total", 3.0);
        has("producer-metrics", "version", "4.3.1");
        has("producer-metrics", "waiting-threads", 1.0);
        has("producer-node-metrics", "request-latency-avg", 5.0);

        assertEquals(
                Map.of("batch-size-avg", 16_384.0, "record-retry-total", 3.0),
                JSON.convertValue(ClientMetrics.read(metrics), Map.class));
    }

    @Test
    void whatWasNeverMeasuredIsLeftOut() {
        has("producer-metrics", "record-queue-time-avg", Double.NaN);
        has("producer-metrics", "record-queue-time-max", Double.NEGATIVE_INFINITY);
        has("producer-metrics", "compression-rate-avg", "none");

        assertEquals(0, ClientMetrics.read(metrics).size());
    }

    @Test
    void totalsLoseWhatTheWarmUpCountedAndAveragesStay() throws Exception {
        JsonNode since = ClientMetrics.withTotalsSince(
                node("{\"record-retry-total\": 2.0, \"batch-size-avg\": 100.0}"),
                node("{\"record-retry-total\": 5.0, \"batch-size-avg\": 300.0, \"buffer-exhausted-total\": 1.0}"));

        assertEquals(3.0, since.get("record-retry-total").asDouble());
        assertEquals(300.0, since.get("batch-size-avg").asDouble());
        assertEquals(1.0, since.get("buffer-exhausted-total").asDouble());
    }
}
