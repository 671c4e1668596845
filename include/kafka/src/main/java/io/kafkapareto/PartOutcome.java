package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.ToDoubleFunction;
import java.util.function.ToLongFunction;

/**
 * The outcome of one part of a load, of the producers of one or several machines.
 *
 * @param part {@code unthrottled} or {@code paced}
 * @param sendingS time from the start to the last call of {@code send()}
 * @param answerWaitS wait for answers one by one, summed over producers
 * @param sendingCpuS CPU time of the sending threads
 * @param lateNs time from the common start to this machine's first producer's start
 * @param startErrorNs largest clock error of the common start
 */
record PartOutcome(
        String part, long warmupAttempted, long warmupAcknowledged, long attempted, long planned, double sendingS,
        double answerWaitS, double sendingCpuS, long lateNs, long startErrorNs, LatencyStatistics outcomes,
        List<ClientMetrics.OfProducer> producers) {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Return one outcome for all machines of a load. */
    static PartOutcome merged(List<PartOutcome> machines) {
        return new PartOutcome(
                machines.get(0).part,
                sum(machines, PartOutcome::warmupAttempted),
                sum(machines, PartOutcome::warmupAcknowledged),
                sum(machines, PartOutcome::attempted),
                sum(machines, PartOutcome::planned),
                machines.stream().mapToDouble(PartOutcome::sendingS).max().getAsDouble(),
                total(machines, PartOutcome::answerWaitS),
                total(machines, PartOutcome::sendingCpuS),
                machines.stream().mapToLong(PartOutcome::lateNs).max().getAsLong(),
                machines.stream().mapToLong(PartOutcome::startErrorNs).max().getAsLong(),
                LatencyStatistics.merged(machines.stream().map(PartOutcome::outcomes).toList()),
                machines.stream().flatMap(each -> each.producers.stream()).toList());
    }

    private static long sum(List<PartOutcome> machines, ToLongFunction<PartOutcome> count) {
        return machines.stream().mapToLong(count).sum();
    }

    private static double total(List<PartOutcome> machines, ToDoubleFunction<PartOutcome> seconds) {
        return machines.stream().mapToDouble(seconds).sum();
    }

    /** Return the longest time that may have been between the starts of two machines. */
    static double startSpreadMs(List<PartOutcome> machines) {
        long longestNs = 0;
        for (PartOutcome one : machines) {
            for (PartOutcome other : machines) {
                if (one != other) {
                    long errorNs = one.startErrorNs + other.startErrorNs;
                    longestNs = Math.max(longestNs, one.lateNs - other.lateNs + errorNs);
                }
            }
        }
        return longestNs / 1e6;
    }

    /** Return the figures, as the load generator prints them. */
    ObjectNode described() {
        ObjectNode described = counts();
        outcomes.describe(described);
        described.set("client_metrics", ClientMetrics.merged(producers));
        return described;
    }

    /** Return everything, for another machine to merge; {@link #ofJson} reads it. */
    ObjectNode toJson() {
        ObjectNode all = counts().put("late_ns", lateNs).put("start_error_ns", startErrorNs);
        all.set("outcomes", outcomes.toJson());
        ArrayNode each = all.putArray("producers");
        for (ClientMetrics.OfProducer producer : producers) {
            each.addObject().put("records_sent", producer.recordsSent()).set("metrics", producer.metrics());
        }
        return all;
    }

    static PartOutcome ofJson(JsonNode all) throws IOException {
        List<ClientMetrics.OfProducer> producers = new ArrayList<>();
        for (JsonNode each : all.get("producers")) {
            ObjectNode metrics = (ObjectNode) each.get("metrics");
            producers.add(new ClientMetrics.OfProducer(metrics, each.get("records_sent").asDouble()));
        }
        return new PartOutcome(
                all.get("part").asText(),
                all.get("warmup_attempted").asLong(),
                all.get("warmup_acknowledged").asLong(),
                all.get("attempted").asLong(),
                all.get("planned").asLong(),
                all.get("sending_s").asDouble(),
                all.get("answer_wait_s").asDouble(),
                all.get("sending_cpu_s").asDouble(),
                all.get("late_ns").asLong(),
                all.get("start_error_ns").asLong(),
                LatencyStatistics.ofJson(all.get("outcomes")),
                producers);
    }

    private ObjectNode counts() {
        return JSON.createObjectNode()
                .put("part", part)
                .put("warmup_attempted", warmupAttempted)
                .put("warmup_acknowledged", warmupAcknowledged)
                .put("attempted", attempted)
                .put("planned", planned)
                .put("sending_s", sendingS)
                .put("answer_wait_s", answerWaitS)
                .put("sending_cpu_s", sendingCpuS);
    }
}
