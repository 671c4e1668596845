package io.kafkapareto;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.HdrHistogram.Histogram;

/**
 * The latencies of the records of one part, at microsecond resolution, over the whole part and window by window.
 *
 * <p>Written by the producer's I/O thread and, for what fails at once, by the sending thread; hence synchronized.
 */
final class Latencies {
    private static final double[] PERCENTILES = {50, 75, 90, 95, 99, 99.9, 99.99};
    private static final long HIGHEST_US = 3_600_000_000L;
    private static final int SIGNIFICANT_DIGITS = 3;
    private static final int MAX_REASONS = 20;

    private final long windowNs;
    private final Histogram fromDue = new Histogram(HIGHEST_US, SIGNIFICANT_DIGITS);
    private final Histogram fromSend = new Histogram(HIGHEST_US, SIGNIFICANT_DIGITS);
    private final List<Histogram> windows = new ArrayList<>();
    private final Map<String, Integer> failures = new TreeMap<>();
    private long startedNs;
    private long lastCompletedNs;

    Latencies(long windowNs) {
        this.windowNs = windowNs;
    }

    synchronized void start(long nowNs) {
        startedNs = nowNs;
    }

    synchronized void completed(long dueNs, long sentNs, Exception failure) {
        if (failure != null) {
            String reason = failure.getClass().getSimpleName() + ": " + failure.getMessage();
            if (failures.containsKey(reason) || failures.size() < MAX_REASONS) {
                failures.merge(reason, 1, Integer::sum);
            } else {
                failures.merge("other", 1, Integer::sum);
            }
            return;
        }
        lastCompletedNs = System.nanoTime();
        fromDue.recordValue(Math.min((lastCompletedNs - dueNs) / 1_000, HIGHEST_US));
        fromSend.recordValue(Math.min((lastCompletedNs - sentNs) / 1_000, HIGHEST_US));
        int window = (int) ((lastCompletedNs - startedNs) / windowNs);
        while (windows.size() <= window) {
            windows.add(null);
        }
        if (windows.get(window) == null) {
            windows.set(window, new Histogram(SIGNIFICANT_DIGITS));
        }
        windows.get(window).recordValue((lastCompletedNs - dueNs) / 1_000);
    }

    synchronized long acknowledged() {
        return fromSend.getTotalCount();
    }

    synchronized long lastCompletedNs() {
        return lastCompletedNs;
    }

    synchronized void describe(ObjectNode answer) {
        answer.put("acknowledged", acknowledged());
        describe(answer.putObject("latency"), fromDue);
        describe(answer.putObject("latency_from_send"), fromSend);
        answer.put("window_ms", windowNs / 1_000_000);
        ArrayNode counts = answer.putArray("window_records");
        ArrayNode medians = answer.putArray("window_latency_p50");
        ArrayNode tails = answer.putArray("window_latency_p95");
        for (Histogram window : windows) {
            counts.add(window == null ? 0 : window.getTotalCount());
            if (window == null) {
                medians.addNull();
                tails.addNull();
            } else {
                medians.add(window.getValueAtPercentile(50));
                tails.add(window.getValueAtPercentile(95));
            }
        }
        ObjectNode reasons = answer.putObject("failures");
        failures.forEach(reasons::put);
    }

    private static void describe(ObjectNode answer, Histogram histogram) {
        if (histogram.getTotalCount() == 0) {
            return;
        }
        answer.put("mean", histogram.getMean()).put("standard_deviation", histogram.getStdDeviation());
        answer.put("max", histogram.getMaxValue());
        for (double percentile : PERCENTILES) {
            String name = "p" + (percentile == (long) percentile ? Long.toString((long) percentile) : percentile + "");
            answer.put(name.replace(".", ""), histogram.getValueAtPercentile(percentile));
        }
    }
}
