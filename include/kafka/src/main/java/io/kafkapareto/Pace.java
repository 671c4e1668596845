package io.kafkapareto;

/**
 * The rate of one of several producers. Its share is the load's records, counted from 0, whose index is
 * {@code producer} modulo {@code producers}.
 *
 * <p>A fixed pace gives every record a due time. Any other rate is only a limit, without due times. The rate is that of
 * the whole load; the slots of the shares interleave.
 */
record Pace(double recordsPerSecond, boolean fixed, int producer, int producers) {
    /** A configuration with a backlog may send for this many times the planned time. */
    private static final int LONGEST_BACKLOG = 3;

    /** Make the pace of a load with one producer. */
    Pace(double recordsPerSecond, boolean fixed) {
        this(recordsPerSecond, fixed, 0, 1);
    }

    Pace shareOf(int producer, int producers) {
        return new Pace(recordsPerSecond, fixed, producer, producers);
    }

    /** Return the number of planned records; without a fixed pace only the time limits it. */
    long records(double seconds) {
        if (!fixed) {
            return Long.MAX_VALUE;
        }
        long ofTheWholeLoad = Math.round(recordsPerSecond * seconds);
        return (ofTheWholeLoad - producer + producers - 1) / producers;
    }

    /** Return the time after which sending ends, even if planned records remain. */
    long longestNs(double seconds) {
        return (long) (seconds * 1e9) * (fixed ? LONGEST_BACKLOG : 1);
    }

    /** Return the time from the start to the slot of the share's n-th record, counted from 0; delays do not move it. */
    long offsetNs(long index) {
        return (long) ((producer + index * producers) * (1e9 / recordsPerSecond));
    }
}
