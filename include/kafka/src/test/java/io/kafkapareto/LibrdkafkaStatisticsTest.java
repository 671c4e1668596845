package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import com.fasterxml.jackson.databind.JsonNode;
import org.junit.jupiter.api.Test;

class LibrdkafkaStatisticsTest {
    private final LibrdkafkaStatistics statistics = new LibrdkafkaStatistics(true);

    /** An emission of two brokers, one of them unused, with these batches and produce requests so far. */
    private static String emission(int batches, int records, long bytes, int requests, int recordsInAll) {
        return String.format("""
                {"txmsgs": %d,
                 "brokers": {
                  "a": {"int_latency": {"sum": %d, "cnt": %d}, "outbuf_latency": {"sum": %d, "cnt": %d},
                        "rtt": {"sum": %d, "cnt": %d, "max": 9000}, "throttle": {"max": 7}, "req": {"Produce": %d}},
                  "b": {"int_latency": {"sum": 0, "cnt": 0}, "rtt": {"sum": 0, "cnt": 0, "max": 0},
                        "throttle": {"max": 0}, "req": {"Produce": 0}}},
                 "topics": {"t": {"batchsize": {"sum": %d, "cnt": %d}, "batchcnt": {"sum": %d, "cnt": %d}}}}""",
                recordsInAll, 4_000 * batches, batches, 500 * batches, batches, 2_000 * batches, batches, requests,
                bytes, batches, records, batches);
    }

    @Test
    void sumsOverBrokersAndSecondsBecomeJavasAverages() {
        statistics.reset();
        statistics.add(emission(1, 1, 100, 1, 1)); // partly of the warm-up
        statistics.add(emission(10, 200, 50_000, 11, 201));
        statistics.add(emission(30, 200, 30_000, 31, 401));
        ClientMetrics.OfProducer found = statistics.read();

        JsonNode metrics = found.metrics();
        assertEquals(401, found.recordsSent());
        assertEquals(80_000 / 40.0, metrics.get("batch-size-avg").asDouble());
        assertEquals(4.5, metrics.get("record-queue-time-avg").asDouble(), 1e-9);
        assertEquals(2.0, metrics.get("request-latency-avg").asDouble(), 1e-9);
        assertEquals(9.0, metrics.get("request-latency-max").asDouble());
        assertEquals(7.0, metrics.get("produce-throttle-time-max").asDouble());
        assertEquals(400 / 30.0, metrics.get("records-per-request-avg").asDouble(), 1e-9);
    }

    @Test
    void theOnlyEmissionCountsEvenIfItAlsoCoversTheWarmUp() {
        statistics.reset();
        statistics.add(emission(2, 20, 2_000, 2, 20));
        JsonNode metrics = statistics.read().metrics();

        assertEquals(1_000, metrics.get("batch-size-avg").asDouble());
        assertEquals(10, metrics.get("records-per-request-avg").asDouble());
    }

    @Test
    void unansweredRecordsHaveNoLatencyOfTheirRequests() {
        LibrdkafkaStatistics unanswered = new LibrdkafkaStatistics(false);
        unanswered.add(emission(2, 20, 2_000, 2, 20));

        JsonNode metrics = unanswered.read().metrics();
        assertFalse(metrics.has("request-latency-avg"));
        assertEquals(1_000, metrics.get("batch-size-avg").asDouble());
    }

    @Test
    void throttlingInTheFirstSecondCounts() {
        statistics.reset();
        statistics.add(emission(1, 1, 100, 1, 1));
        statistics.add(emission(1, 1, 100, 2, 2).replace("\"max\": 7", "\"max\": 0"));
        assertEquals(7.0, statistics.read().metrics().get("produce-throttle-time-max").asDouble());
    }

    @Test
    void withoutBatchesThereAreNoAverages() {
        statistics.reset();
        statistics.add(emission(0, 0, 0, 0, 0));
        JsonNode metrics = statistics.read().metrics();

        assertFalse(metrics.has("batch-size-avg"));
        assertFalse(metrics.has("records-per-request-avg"));
    }
}
