package io.kafkapareto;

/** A clock that goes on only when it is told to, or when somebody waits. */
final class SimulatedClock implements MonotonicClock {
    static final long MS = 1_000_000L;
    static final long S = 1_000 * MS;

    /** As the real one, it starts anywhere, below zero too. */
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
