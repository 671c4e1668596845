package io.kafkapareto;

import java.util.concurrent.locks.LockSupport;

/** Time that only goes forward, in nanoseconds from an arbitrary start. */
public interface MonotonicClock {
    MonotonicClock SYSTEM = new MonotonicClock() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        /** Park rather than spin, since a spinning core is one that the broker may need; wakes some 0.1 ms late. */
        @Override
        public void waitUntil(long deadlineNs) {
            for (long left = deadlineNs - nanoTime(); left > 0; left = deadlineNs - nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }
    };

    long nanoTime();

    /** Return at the deadline, or at once where it has passed. */
    void waitUntil(long deadlineNs);
}
