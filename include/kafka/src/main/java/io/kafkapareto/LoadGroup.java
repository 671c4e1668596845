package io.kafkapareto;

import java.util.concurrent.atomic.AtomicBoolean;

/** The machines that send a load together, as one of them sees them. This one sends alone. */
class LoadGroup {
    /** A record failed here or, as of the last meeting, on another machine, or the group is lost. All sending stops. */
    final AtomicBoolean failed = new AtomicBoolean();

    /** Return this machine's index in the group. */
    int place() {
        return 0;
    }

    int size() {
        return 1;
    }

    /** Wait for all machines; return their common start in this machine's time. */
    long start(MonotonicClock clock) {
        return clock.nanoTime();
    }

    /** Wait for all machines, so that {@link #failed} holds for all. */
    void meet() {}

    /** Have this run if the group is lost: nothing may be sent for it any more. */
    void whenLost(Runnable action) {}

    /** Return the largest clock error of the last start; clocks are compared over the network. */
    long startErrorNs() {
        return 0;
    }
}
