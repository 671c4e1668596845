package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.junit.jupiter.api.Test;

class ClientMetricsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Map<MetricName, Metric> metrics = new LinkedHashMap<>();

    /** A metric with its value. */
    record Read(MetricName metricName, Object metricValue) implements Metric {}

    private void has(String group, String name, Object value) {
        MetricName key = new MetricName(name, group, "", Map.of());
        metrics.put(key, new Read(key, value));
    }

    static ObjectNode node(String text) throws Exception {
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

    @Test
    void recordsSentAreThoseOfTheProducersWholeLife() {
        has("producer-metrics", "record-send-total", 70.0);
        has("producer-topic-metrics", "record-send-total", 70.0);

        assertEquals(70.0, ClientMetrics.recordsSent(metrics));
        assertEquals(0.0, ClientMetrics.recordsSent(Map.of()));
    }

    /** The second producer sent three times as many batches and requests as the first. */
    @Test
    void ofSeveralProducersTotalsAddUpTheHighestMaximumCountsAndAveragesAreOverAllBatchesOrRequests() throws Exception {
        var first = new ClientMetrics.OfProducer(node("""
                {"record-retry-total": 2.0, "record-queue-time-max": 9.0, "record-queue-time-avg": 8.0,
                "batch-size-avg": 200.0, "request-latency-avg": 6.0, "records-per-request-avg": 10.0}"""), 100);
        var second = new ClientMetrics.OfProducer(node("""
                {"record-retry-total": 3.0, "record-queue-time-max": 4.0, "record-queue-time-avg": 4.0,
                "batch-size-avg": 100.0, "request-latency-avg": 3.0, "records-per-request-avg": 5.0,
                "compression-rate-avg": 0.5}"""), 150);
        ObjectNode merged = ClientMetrics.merged(List.of(first, second));

        assertEquals(5.0, merged.get("record-retry-total").asDouble());
        assertEquals(9.0, merged.get("record-queue-time-max").asDouble());
        assertEquals(5.0, merged.get("record-queue-time-avg").asDouble(), 1e-12);
        assertEquals(125.0, merged.get("batch-size-avg").asDouble(), 1e-12);
        assertEquals(3.75, merged.get("request-latency-avg").asDouble(), 1e-12);
        assertEquals(6.25, merged.get("records-per-request-avg").asDouble(), 1e-12); // 250 records in 10 + 30 requests
        assertEquals(0.5, merged.get("compression-rate-avg").asDouble());
        assertEquals(7, merged.size());
    }

    @Test
    void theMetricsOfOneProducerStayAsTheyAre() throws Exception {
        ObjectNode only = node("{\"batch-size-avg\": 200.0}");

        assertEquals(only, ClientMetrics.merged(List.of(new ClientMetrics.OfProducer(only, 0))));
    }

    @Test
    void producersThatSentNothingGiveNoAverage() throws Exception {
        var idle = new ClientMetrics.OfProducer(node("{\"request-latency-avg\": 1.0}"), 0);

        assertEquals(0, ClientMetrics.merged(List.of(idle, idle)).size());
    }
}
