package io.kafkapareto;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import org.HdrHistogram.Histogram;

/**
 * What became of the records of one part: latencies at microsecond resolution, acknowledgements window by window, and
 * the reasons of failures.
 *
 * <p>Written by the producer's I/O thread and, for what fails at once, by the sending thread; hence synchronized.
 */
final class Outcomes {
    private static final long HIGHEST_US = 3_600_000_000L;
    private static final int SIGNIFICANT_DIGITS = 3;
    private static final int WINDOW_MS = 100;
    /** Messages often name a partition or a time, so that there may be as many as failures. */
    private static final int MAX_REASONS = 10;

    private final Histogram fromDue = new Histogram(HIGHEST_US, SIGNIFICANT_DIGITS);
    private final Histogram fromSend = new Histogram(HIGHEST_US, SIGNIFICANT_DIGITS);
    private final Map<String, Integer> failures = new LinkedHashMap<>();
    private int[] windowRecords = new int[0];
    private final MonotonicClock clock;
    private long startedNs;
    private long lastNs;
    private volatile boolean failed;

    Outcomes(MonotonicClock clock) {
        this.clock = clock;
        startedNs = clock.nanoTime();
    }

    /** Forgets the latencies of the warm-up, but not its failures. */
    synchronized void startAfresh(long nowNs) {
        fromDue.reset();
        fromSend.reset();
        windowRecords = new int[0];
        startedNs = nowNs;
    }

    synchronized void completed(long dueNs, long sentNs, Exception failure) {
        if (failure != null) {
            failed = true;
            String reason = failure.getClass().getSimpleName() + ": " + failure.getMessage();
            boolean room = failures.containsKey(reason) || failures.size() < MAX_REASONS;
            failures.merge(room ? reason : "other", 1, Integer::sum);
            return;
        }
        lastNs = clock.nanoTime();
        fromDue.recordValue(Math.min((lastNs - dueNs) / 1_000, HIGHEST_US));
        fromSend.recordValue(Math.min((lastNs - sentNs) / 1_000, HIGHEST_US));
        int window = (int) ((lastNs - startedNs) / (WINDOW_MS * 1_000_000L));
        if (window >= windowRecords.length) {
            windowRecords = Arrays.copyOf(windowRecords, window + 1);
        }
        windowRecords[window]++;
    }

    boolean failed() {
        return failed;
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

    private static ObjectNode describe(Histogram histogram, ObjectNode parent) {
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
