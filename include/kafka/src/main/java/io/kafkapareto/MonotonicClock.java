package io.kafkapareto;

import java.util.concurrent.locks.LockSupport;

/** Monotonic time in nanoseconds from an arbitrary start. */
public interface MonotonicClock {
    MonotonicClock SYSTEM = new MonotonicClock() {
        @Override
        public long nanoTime() {
            return System.nanoTime();
        }

        /** Park rather than spin, because the broker may need the core; wakes about 0.1 ms late. */
        @Override
        public void waitUntil(long deadlineNs) {
            for (long left = deadlineNs - nanoTime(); left > 0; left = deadlineNs - nanoTime()) {
                LockSupport.parkNanos(left);
            }
        }
    };

    long nanoTime();

    /** Return at the deadline, or immediately if it has passed. */
    void waitUntil(long deadlineNs);
}
