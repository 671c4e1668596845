package io.kafkapareto.ingest;

import io.kafkapareto.MonotonicClock;

/** Limit the bytes per second of all senders together. */
final class ByteLimit {
    /** The longest pause to compensate for; more would cause a burst above the limit. */
    private static final long MOST_CREDIT_NS = 100_000_000;
    /** Shorter sleeps are not worth their cost; the next rows wait instead. */
    private static final long LEAST_WAIT_NS = 1_000_000;

    private final double nsPerByte;
    private long nextDueNs = System.nanoTime();

    /** 0 means no limit. */
    ByteLimit(double mostMibPerSecond) {
        nsPerByte = mostMibPerSecond > 0 ? 1e9 / (mostMibPerSecond * (1 << 20)) : 0;
    }

    /** Return once this many more bytes may be sent. */
    void awaitRoomFor(int more) {
        if (nsPerByte == 0) {
            return;
        }
        long dueNs = dueNs(more);
        if (dueNs - System.nanoTime() >= LEAST_WAIT_NS) {
            MonotonicClock.SYSTEM.waitUntil(dueNs);
        }
    }

    private synchronized long dueNs(int more) {
        long earliestNs = System.nanoTime() - MOST_CREDIT_NS;
        long dueNs = nextDueNs - earliestNs > 0 ? nextDueNs : earliestNs;  // nanoTime may overflow
        nextDueNs = dueNs + (long) (nsPerByte * more);
        return dueNs;
    }
}
