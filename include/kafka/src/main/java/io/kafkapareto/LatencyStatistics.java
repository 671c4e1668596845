package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;

/**
 * Outcomes of one producer's records in one part: latencies in microseconds, acknowledgements by window, and the
 * reasons for failures.
 *
 * <p>Written by the producer's I/O thread and, for immediate failures, by the sending thread; hence synchronized.
 */
final class LatencyStatistics {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long HIGHEST_US = 3_600_000_000L;
    private static final int SIGNIFICANT_DIGITS = 3;
    private static final int WINDOW_MS = 100;
    /** Messages often name a partition or a time, so their number must be limited. */
    private static final int MAX_REASONS = 10;

    private final Histogram fromDue = histogram();
    private final Histogram fromSend = histogram();
    private final Map<String, Integer> failures = new LinkedHashMap<>();
    private int[] windowRecords = new int[0];
    private final MonotonicClock clock;
    private final AtomicBoolean failed;
    private long startedNs;
    private long lastNs;

    /** The producers of a part share {@code failed}: if one fails, all stop. */
    LatencyStatistics(MonotonicClock clock, AtomicBoolean failed) {
        this.clock = clock;
        this.failed = failed;
        startedNs = clock.nanoTime();
    }

    /** Discard the latencies of the warm-up, but keep its failures. */
    synchronized void startAfresh(long nowNs) {
        fromDue.reset();
        fromSend.reset();
        windowRecords = new int[0];
        startedNs = nowNs;
    }

    synchronized void completed(long dueNs, long sentNs, Exception failure) {
        if (failure != null) {
            failed.set(true);
            count(failure.getClass().getSimpleName() + ": " + failure.getMessage(), 1);
            return;
        }
        lastNs = clock.nanoTime();
        record(fromDue, lastNs - dueNs);
        record(fromSend, lastNs - sentNs);
        int window = (int) ((lastNs - startedNs) / (WINDOW_MS * 1_000_000L));
        extendTo(window + 1);
        windowRecords[window]++;
    }

    /**
     * Return the combined outcomes of a part's producers. Either all must have discarded a warm-up at the same time, or
     * none.
     */
    static LatencyStatistics merged(List<LatencyStatistics> producers) {
        LatencyStatistics first = producers.get(0);
        LatencyStatistics merged = new LatencyStatistics(first.clock, first.failed);
        merged.startedNs = first.startedNs;
        producers.forEach(merged::add);
        return merged;
    }

    private void add(LatencyStatistics other) {
        synchronized (other) {
            if (other.acknowledged() > 0) {
                lastNs = acknowledged() == 0 ? other.lastNs : Math.max(lastNs, other.lastNs);
            }
            fromDue.add(other.fromDue);
            fromSend.add(other.fromSend);
            extendTo(other.windowRecords.length);
            for (int window = 0; window < other.windowRecords.length; window++) {
                windowRecords[window] += other.windowRecords[window];
            }
            other.failures.forEach(this::count);
        }
    }

    private void extendTo(int windows) {
        if (windows > windowRecords.length) {
            windowRecords = Arrays.copyOf(windowRecords, windows);
        }
    }

    private void count(String reason, int records) {
        boolean room = failures.containsKey(reason) || failures.size() < MAX_REASONS;
        failures.merge(room ? reason : "other", records, Integer::sum);
    }

    boolean failed() {
        return failed.get();
    }

    synchronized long acknowledged() {
        return fromDue.getTotalCount();
    }

    synchronized void describe(ObjectNode part) {
        long acknowledged = acknowledged();
        part.put("acknowledged", acknowledged);
        part.put("elapsed_s", acknowledged == 0 ? 0 : (lastNs - startedNs) / 1e9);
        part.set("latency_us", describe(fromDue, part));
        part.set("latency_from_send_us", describe(fromSend, part));
        part.put("window_ms", WINDOW_MS);
        ArrayNode counts = part.putArray("window_records");
        Arrays.stream(windowRecords).forEach(counts::add);
        ObjectNode reasons = part.putObject("failures");
        failures.forEach(reasons::put);
    }

    /** Return everything, for another machine to merge; {@link #ofJson} reads it. */
    synchronized ObjectNode toJson() {
        ObjectNode all = JSON.createObjectNode()
                .put("elapsed_ns", acknowledged() == 0 ? 0 : lastNs - startedNs)
                .put("from_due", encoded(fromDue))
                .put("from_send", encoded(fromSend));
        ArrayNode counts = all.putArray("window_records");
        Arrays.stream(windowRecords).forEach(counts::add);
        ObjectNode reasons = all.putObject("failures");
        failures.forEach(reasons::put);
        return all;
    }

    /** Read another machine's outcomes; their time starts at 0. */
    static LatencyStatistics ofJson(JsonNode all) throws IOException {
        LatencyStatistics read = new LatencyStatistics(MonotonicClock.SYSTEM, new AtomicBoolean());
        read.startedNs = 0;
        read.lastNs = all.get("elapsed_ns").asLong();
        read.fromDue.add(decoded(all.get("from_due")));
        read.fromSend.add(decoded(all.get("from_send")));
        read.windowRecords = JSON.treeToValue(all.get("window_records"), int[].class);
        all.get("failures").properties().forEach(each -> read.count(each.getKey(), each.getValue().asInt()));
        return read;
    }

    private static byte[] encoded(Histogram histogram) {
        ByteBuffer buffer = ByteBuffer.allocate(histogram.getNeededByteBufferCapacity());
        return Arrays.copyOf(buffer.array(), histogram.encodeIntoCompressedByteBuffer(buffer));
    }

    private static Histogram decoded(JsonNode encoded) throws IOException {
        try {
            return Histogram.decodeFromCompressedByteBuffer(ByteBuffer.wrap(encoded.binaryValue()), 0);
        } catch (DataFormatException error) {
            throw new IOException("a histogram is unreadable", error);
        }
    }

    /** Make an empty histogram of microseconds; values are capped at one hour. */
    static Histogram histogram() {
        return new Histogram(HIGHEST_US, SIGNIFICANT_DIGITS);
    }

    static void record(Histogram histogram, long latencyNs) {
        histogram.recordValue(Math.min(latencyNs / 1_000, HIGHEST_US));
    }

    /** Return the histogram's figures in microseconds; null if it is empty. */
    static ObjectNode describe(Histogram histogram, ObjectNode parent) {
        if (histogram.getTotalCount() == 0) {
            return null;
        }
        return parent.objectNode()
                .put("mean", histogram.getMean())
                .put("standard_deviation", histogram.getStdDeviation())
                .put("p50", histogram.getValueAtPercentile(50))
                .put("p75", histogram.getValueAtPercentile(75))
                .put("p90", histogram.getValueAtPercentile(90))
                .put("p95", histogram.getValueAtPercentile(95))
                .put("p99", histogram.getValueAtPercentile(99))
                .put("p999", histogram.getValueAtPercentile(99.9))
                .put("p9999", histogram.getValueAtPercentile(99.99))
                .put("max", histogram.getMaxValue());
    }
}
