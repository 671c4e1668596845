package io.kafkapareto.ingest;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Measure how many rows are acknowledged per second, by slice; the last, shorter slice is omitted. */
final class PaceBySlice implements Runnable {
    static final long SLICE_NS = 250_000_000L;

    private final LongSupplier acknowledgedRows;
    private final int mostSlices;
    private final List<Double> rowsPerSecond = new ArrayList<>();

    /** Measure only this many first slices. */
    PaceBySlice(LongSupplier acknowledgedRows, int mostSlices) {
        this.acknowledgedRows = acknowledgedRows;
        this.mostSlices = mostSlices;
    }

    /**
     * Measure until the thread is interrupted, or all slices are over. Rates use the actual time: a busy machine wakes
     * late.
     */
    @Override
    public void run() {
        long lastNs = System.nanoTime();
        long lastRows = acknowledgedRows.getAsLong();
        long dueNs = lastNs + SLICE_NS;
        try {
            while (soFar().size() < mostSlices) {
                TimeUnit.NANOSECONDS.sleep(dueNs - System.nanoTime());
                long nowNs = System.nanoTime();
                if (nowNs < dueNs) {
                    continue;
                }
                long rows = acknowledgedRows.getAsLong();
                for (; dueNs <= nowNs; dueNs += SLICE_NS) {
                    add((rows - lastRows) * 1e9 / (nowNs - lastNs));
                }
                lastNs = nowNs;
                lastRows = rows;
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    private synchronized void add(double pace) {
        rowsPerSecond.add(pace);
    }

    /** Return the rate of each finished slice. */
    synchronized List<Double> soFar() {
        return List.copyOf(rowsPerSecond);
    }
}
