package io.kafkapareto;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;

/**
 * librdkafka's statistics (its STATISTICS.md) under the names of the Java client's metrics. They are emitted every
 * second, with sums over that second; the first and the last, incomplete seconds of a part are missing.
 *
 * <p>The time in the queue is that of a record (Java: of a batch), until librdkafka builds its request and then until it
 * sends it. Sending and round trips are those of all requests, of which few do not carry records.
 */
final class LibrdkafkaStatistics {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long LONGEST_WAIT_MS = 3_000;
    private static final double US_PER_MS = 1_000;

    private final boolean isAnswered;
    private Totals totals = new Totals();
    private double produceRequests;
    private double recordsSent;
    private double longestThrottlingMs;
    private int sinceWarmup;

    /** With {@code acks=0} records are not answered, so there is no latency of their requests. */
    LibrdkafkaStatistics(boolean isAnswered) {
        this.isAnswered = isAnswered;
    }

    /** Sums of the emissions that count. */
    private static final class Totals {
        private final Sum queueUs = new Sum();
        private final Sum requestQueueUs = new Sum();
        private final Sum roundTripUs = new Sum();
        private final Sum batchBytes = new Sum();
        private final Sum batchRecords = new Sum();
        private double longestRoundTripUs;
        private double produceRequests;

        void add(JsonNode emission) {
            for (JsonNode broker : emission.path("brokers")) {
                queueUs.add(broker.path("int_latency"));
                requestQueueUs.add(broker.path("outbuf_latency"));
                roundTripUs.add(broker.path("rtt"));
                longestRoundTripUs = Math.max(longestRoundTripUs, broker.path("rtt").path("max").asDouble());
            }
            for (JsonNode topic : emission.path("topics")) {
                batchBytes.add(topic.path("batchsize"));
                batchRecords.add(topic.path("batchcnt"));
            }
        }

        ObjectNode described(boolean isAnswered) {
            ObjectNode found = JSON.createObjectNode();
            if (batchRecords.count > 0) {
                found.put("batch-size-avg", batchBytes.mean());
                found.put(ClientMetrics.BYTES, batchBytes.sum);
                found.put(ClientMetrics.RECORDS, batchRecords.sum);
            }
            if (queueUs.count > 0) {
                found.put("record-queue-time-avg", (queueUs.mean() + requestQueueUs.mean()) / US_PER_MS);
            }
            if (isAnswered && roundTripUs.count > 0) {
                found.put("request-latency-avg", roundTripUs.mean() / US_PER_MS);
                found.put("request-latency-max", longestRoundTripUs / US_PER_MS);
            }
            if (produceRequests > 0) {
                found.put("records-per-request-avg", batchRecords.sum / produceRequests);
            }
            return found;
        }
    }

    /** A sum and the number of its terms. */
    private static final class Sum {
        private double sum;
        private double count;

        void add(JsonNode window) {
            sum += window.path("sum").asDouble();
            count += window.path("cnt").asDouble();
        }

        double mean() {
            return count > 0 ? sum / count : 0;
        }
    }

    /** Add one emission, a JSON object. */
    synchronized void add(String text) {
        JsonNode emission;
        try {
            emission = JSON.readTree(text);
        } catch (JsonProcessingException error) {
            throw new IllegalStateException("librdkafka's statistics are not JSON", error);
        }
        if (sinceWarmup == 1) {
            totals = new Totals(); // the first emission also covers the end of the warm-up
        }
        totals.add(emission);
        double sent = 0;
        for (JsonNode broker : emission.path("brokers")) {
            sent += broker.path("req").path("Produce").asDouble();
            longestThrottlingMs = Math.max(longestThrottlingMs, broker.path("throttle").path("max").asDouble());
        }
        totals.produceRequests += sent - produceRequests;
        produceRequests = sent;
        recordsSent = emission.path("txmsgs").asDouble();
        sinceWarmup++;
        notifyAll();
    }

    synchronized void reset() {
        totals = new Totals();
        longestThrottlingMs = 0;
        sinceWarmup = 0;
    }

    /** Return the metrics of the emissions since {@link #reset}; wait for one if there was none. */
    synchronized ClientMetrics.OfProducer read() {
        long deadlineMs = System.nanoTime() / 1_000_000 + LONGEST_WAIT_MS;
        try {
            for (long leftMs = LONGEST_WAIT_MS; sinceWarmup == 0 && leftMs > 0;
                    leftMs = deadlineMs - System.nanoTime() / 1_000_000) {
                wait(leftMs);
            }
        } catch (InterruptedException interruption) {
            Thread.currentThread().interrupt();
        }
        ObjectNode found = totals.described(isAnswered);
        if (sinceWarmup > 0) {
            found.put("produce-throttle-time-max", longestThrottlingMs);
        }
        return new ClientMetrics.OfProducer(found, recordsSent);
    }
}
