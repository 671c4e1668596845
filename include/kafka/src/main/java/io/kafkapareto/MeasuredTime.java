package io.kafkapareto;

import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;

/** The time in which a group is measured. Reading starts when it is known; earlier records are the warm-up. */
final class MeasuredTime {
    private final CountDownLatch closed = new CountDownLatch(1);
    private volatile boolean known;
    private volatile long fromNs;
    private volatile long untilNs = Long.MAX_VALUE;

    /** Set the time; it ends at {@code untilNs} or, if that is {@code Long.MAX_VALUE}, when it is closed. */
    void open(long fromNs, long untilNs) {
        this.fromNs = fromNs;
        this.untilNs = untilNs;
        known = true;
    }

    /** End the time, unless it has ended. */
    synchronized void close(long nowNs) {
        if (closed.getCount() > 0) {
            untilNs = nowNs;
            closed.countDown();
        }
    }

    boolean isKnown() {
        return known;
    }

    boolean awaitClosed(double seconds) throws InterruptedException {
        return closed.await((long) (1e3 * seconds), TimeUnit.MILLISECONDS);
    }

    long fromNs() {
        return fromNs;
    }

    boolean holds(long timeNs) {
        return known && timeNs - fromNs >= 0 && (untilNs == Long.MAX_VALUE || timeNs - untilNs <= 0);
    }

    /** Return the length; 0 if the time ended before its start. */
    long lengthNs() {
        return known && untilNs != Long.MAX_VALUE ? Math.max(untilNs - fromNs, 0) : 0;
    }

    /** Return the share of the interval within the measured time. */
    double shareOf(long beganNs, long endedNs) {
        if (!known || endedNs <= beganNs) {
            return 0;
        }
        long withinNs = Math.max(beganNs, fromNs);
        long endNs = untilNs == Long.MAX_VALUE ? endedNs : Math.min(endedNs, untilNs);
        return Math.max(endNs - withinNs, 0) / (double) (endedNs - beganNs);
    }
}
