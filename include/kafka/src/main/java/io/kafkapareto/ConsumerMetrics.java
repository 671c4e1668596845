package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;

/** Select the consumer metrics about fetching and joining a group. */
final class ConsumerMetrics {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String FETCHES = "fetch-total";
    private static final String REBALANCES = "rebalance-total";
    private static final Set<String> OF_FETCHES = Set.of(
            "bytes-consumed-total",
            "fetch-latency-avg",
            "fetch-latency-max",
            "fetch-size-avg",
            "fetch-throttle-time-max",
            FETCHES,
            "records-consumed-total",
            "records-per-request-avg");
    private static final Set<String> OF_THE_GROUP =
            Set.of("rebalance-latency-avg", "rebalance-latency-max", REBALANCES);

    private ConsumerMetrics() {}

    /** Return the client-wide metrics with a finite value. */
    static ObjectNode read(Map<MetricName, ? extends Metric> metrics) {
        return ClientMetrics.finite(metrics, ConsumerMetrics::isWanted);
    }

    private static boolean isWanted(MetricName name) {
        boolean ofOneTopic = name.tags().containsKey("topic");
        return switch (name.group()) {
            case "consumer-fetch-manager-metrics" -> !ofOneTopic && OF_FETCHES.contains(name.name());
            case "consumer-coordinator-metrics" -> OF_THE_GROUP.contains(name.name());
            default -> false;
        };
    }

    /**
     * Return one set of metrics for all members of a group: totals are summed, the highest maximum counts, and an
     * average is weighted by each member's number of fetches or rebalances.
     */
    static ObjectNode merged(List<ObjectNode> members) {
        ObjectNode merged = JSON.createObjectNode();
        for (ObjectNode member : members) {
            member.fieldNames().forEachRemaining(name -> {
                double value = merged(name, members);
                if (Double.isFinite(value)) {
                    merged.put(name, value);
                }
            });
        }
        return merged;
    }

    private static double merged(String name, List<ObjectNode> members) {
        String weight = OF_THE_GROUP.contains(name) ? REBALANCES : FETCHES;
        return ClientMetrics.merged(name, members, Function.identity(), each -> each.path(weight).asDouble());
    }
}
