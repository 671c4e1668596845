package io.kafkapareto;

import static io.kafkapareto.ClientMetricsTest.node;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.junit.jupiter.api.Test;

class ConsumerMetricsTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private final Map<MetricName, Metric> metrics = new LinkedHashMap<>();

    private void has(String group, String name, Map<String, String> tags, Object value) {
        MetricName key = new MetricName(name, group, "", tags);
        metrics.put(key, new ClientMetricsTest.Read(key, value));
    }

    @Test
    void onlyTheWholeClientsNumbersOfTheListAreRead() {
        has("consumer-fetch-manager-metrics", "fetch-latency-avg", Map.of("client-id", "c"), 5.0);
        has("consumer-fetch-manager-metrics", "fetch-size-avg", Map.of("client-id", "c"), Double.NaN);
        has("consumer-fetch-manager-metrics", "records-per-request-avg", Map.of("client-id", "c", "topic", "t"), 7.0);
        has("consumer-fetch-manager-metrics", "records-lag-max", Map.of("client-id", "c"), 7.0);
        has("consumer-coordinator-metrics", "rebalance-latency-avg", Map.of("client-id", "c"), 30.0);
        has("consumer-metrics", "fetch-total", Map.of("client-id", "c"), 1.0);

        assertEquals(
                Map.of("fetch-latency-avg", 5.0, "rebalance-latency-avg", 30.0),
                JSON.convertValue(ConsumerMetrics.read(metrics), Map.class));
    }

    @Test
    void ofAGroupTotalsAddUpTheHighestMaximumCountsAndAveragesAreOverAllFetchesOrRebalances() throws Exception {
        ObjectNode merged = ConsumerMetrics.merged(List.of(
                node("""
                        {"fetch-total": 30.0, "fetch-latency-avg": 2.0, "fetch-latency-max": 9.0,
                        "rebalance-total": 1.0, "rebalance-latency-avg": 10.0}"""),
                node("""
                        {"fetch-total": 10.0, "fetch-latency-avg": 6.0, "fetch-latency-max": 7.0,
                        "rebalance-total": 3.0, "rebalance-latency-avg": 50.0, "fetch-size-avg": 100.0}""")));

        assertEquals(40.0, merged.get("fetch-total").asDouble());
        assertEquals(3.0, merged.get("fetch-latency-avg").asDouble());
        assertEquals(9.0, merged.get("fetch-latency-max").asDouble());
        assertEquals(40.0, merged.get("rebalance-latency-avg").asDouble());
        assertEquals(100.0, merged.get("fetch-size-avg").asDouble());
    }

    @Test
    void membersThatFetchedNothingGiveNoAverage() throws Exception {
        ObjectNode idle = node("{\"fetch-total\": 0.0, \"fetch-latency-avg\": 1.0}");

        assertEquals("{\"fetch-total\":0.0}", ConsumerMetrics.merged(List.of(idle, idle)).toString());
        assertEquals(0, ConsumerMetrics.merged(List.of()).size());
    }
}
