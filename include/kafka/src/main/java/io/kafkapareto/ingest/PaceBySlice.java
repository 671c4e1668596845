package io.kafkapareto.ingest;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/** Measure how many rows are acknowledged per second, slice by slice; the last, shorter slice is left out. */
final class PaceBySlice implements Runnable {
    static final long SLICE_NS = 250_000_000L;

    private final LongSupplier acknowledgedRows;
    private final int mostSlices;
    private final List<Double> rowsPerSecond = new ArrayList<>();

    /** Measure no more than so many slices, the first ones. */
    PaceBySlice(LongSupplier acknowledgedRows, int mostSlices) {
        this.acknowledgedRows = acknowledgedRows;
        this.mostSlices = mostSlices;
    }

    /**
     * Measure until the thread is interrupted, or all slices are over. A pace is of the time that really passed: a busy
     * machine wakes late.
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

    /** Return the pace in each slice that is over. */
    synchronized List<Double> soFar() {
        return List.copyOf(rowsPerSecond);
    }
}
