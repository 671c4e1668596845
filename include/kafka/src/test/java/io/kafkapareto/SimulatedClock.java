package io.kafkapareto;

/** A clock that advances only on request, or when a caller waits. */
final class SimulatedClock implements MonotonicClock {
    static final long MS = 1_000_000L;
    static final long S = 1_000 * MS;

    /** Like the real clock, it starts anywhere, even below zero. */
    private long nowNs = -5 * S;

    @Override
    public long nanoTime() {
        return nowNs;
    }

    @Override
    public void waitUntil(long deadlineNs) {
        nowNs = Math.max(nowNs, deadlineNs);
    }

    void advance(long ns) {
        nowNs += ns;
    }
}
