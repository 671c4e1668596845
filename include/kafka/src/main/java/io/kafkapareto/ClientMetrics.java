package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.function.ToDoubleFunction;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;

/** Select the producer metrics that show the sources of latency. */
final class ClientMetrics {
    /** Bytes of the batches sent, and their records. */
    static final String BYTES = "byte-total";
    static final String RECORDS = "record-send-total";

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Set<String> NAMES = Set.of(
            "batch-size-avg",
            "buffer-exhausted-total",
            "bufferpool-wait-time-ns-total",
            BYTES,
            "compression-rate-avg",
            "produce-throttle-time-max",
            "record-queue-time-avg",
            "record-queue-time-max",
            "record-retry-total",
            RECORDS,
            "records-per-request-avg",
            "request-latency-avg",
            "request-latency-max");
    /** Averages over requests; the others are over batches. */
    private static final Set<String> OF_REQUESTS = Set.of("records-per-request-avg", "request-latency-avg");

    private ClientMetrics() {}

    /** The metrics of one of several producers, and its number of records sent. */
    record OfProducer(ObjectNode metrics, double recordsSent) {
        /** Return the relative number of batches or requests in an average; all records have the same size. */
        double weightOf(String average) {
            double each = metrics.path(OF_REQUESTS.contains(average) ? "records-per-request-avg" : "batch-size-avg")
                    .asDouble(1);
            return each > 0 ? recordsSent / each : 0;
        }
    }

    /** Return the metrics with a finite value, of a producer that sends to one topic. */
    static ObjectNode read(Map<MetricName, ? extends Metric> metrics) {
        return finite(metrics, name -> NAMES.contains(name.name())
                && name.group().equals(name.name().equals(BYTES) ? "producer-topic-metrics" : "producer-metrics"));
    }

    /** Return the requested metrics with a finite value; Kafka returns NaN without measurements. */
    static ObjectNode finite(Map<MetricName, ? extends Metric> metrics, Predicate<MetricName> isWanted) {
        ObjectNode found = JSON.createObjectNode();
        metrics.forEach((name, metric) -> {
            if (isWanted.test(name) && metric.metricValue() instanceof Double number && Double.isFinite(number)) {
                found.put(name.name(), number);
            }
        });
        return found;
    }

    /** Return the producer's total number of records sent. */
    static double recordsSent(Map<MetricName, ? extends Metric> metrics) {
        return metrics.entrySet().stream()
                .filter(entry -> entry.getKey().group().equals("producer-metrics")
                        && entry.getKey().name().equals(RECORDS))
                .mapToDouble(entry -> (Double) entry.getValue().metricValue())
                .sum();
    }

    /**
     * Return one set of metrics for all producers of a part: totals are summed, the highest maximum counts, and an
     * average is weighted by each producer's number of batches or requests.
     */
    static ObjectNode merged(List<OfProducer> producers) {
        if (producers.size() == 1) {
            return producers.get(0).metrics();
        }
        ObjectNode merged = JSON.createObjectNode();
        for (String name : NAMES) {
            double value = merged(name, producers, OfProducer::metrics, each -> each.weightOf(name));
            if (Double.isFinite(value)) {
                merged.put(name, value);
            }
        }
        return merged;
    }

    /** Merge one metric of several clients: a total, a maximum, or an average with its weights; NaN if none has it. */
    static <C> double merged(
            String name, List<C> clients, Function<C, ObjectNode> metrics, ToDoubleFunction<C> weight) {
        List<C> having = clients.stream().filter(each -> metrics.apply(each).has(name)).toList();
        ToDoubleFunction<C> value = each -> metrics.apply(each).get(name).asDouble();
        if (having.isEmpty()) {
            return Double.NaN;
        }
        if (name.endsWith("-total")) {
            return having.stream().mapToDouble(value).sum();
        }
        if (name.endsWith("-max")) {
            return having.stream().mapToDouble(value).max().getAsDouble();
        }
        return having.stream().mapToDouble(each -> weight.applyAsDouble(each) * value.applyAsDouble(each)).sum()
                / having.stream().mapToDouble(weight).sum();
    }

    /** Subtract the totals of the warm-up: Kafka counts them from the producer's first record on. */
    static ObjectNode withTotalsSince(ObjectNode before, ObjectNode now) {
        for (String name : NAMES) {
            if (name.endsWith("-total") && now.has(name)) {
                now.put(name, now.get(name).asDouble() - before.path(name).asDouble());
            }
        }
        return now;
    }
}
