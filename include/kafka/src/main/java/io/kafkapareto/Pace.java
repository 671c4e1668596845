package io.kafkapareto;

/**
 * How fast one of several producers sends its share of the records: of the whole load's records, counted from 0, those
 * whose index is {@code producer} modulo {@code producers}.
 *
 * <p>A fixed pace gives every record a due time; any other rate is a mere ceiling, without due times. The rate is the
 * whole load's, so that the shares' slots interleave.
 */
record Pace(double recordsPerSecond, boolean fixed, int producer, int producers) {
    /** A configuration that cannot keep up works off its backlog for this many times the planned time, no longer. */
    private static final int LONGEST_BACKLOG = 3;

    /** Make the pace of a load with one producer. */
    Pace(double recordsPerSecond, boolean fixed) {
        this(recordsPerSecond, fixed, 0, 1);
    }

    Pace shareOf(int producer, int producers) {
        return new Pace(recordsPerSecond, fixed, producer, producers);
    }

    /** Return how many records are planned; as many as there is time for where the pace is not fixed. */
    long records(double seconds) {
        if (!fixed) {
            return Long.MAX_VALUE;
        }
        long ofTheWholeLoad = Math.round(recordsPerSecond * seconds);
        return (ofTheWholeLoad - producer + producers - 1) / producers;
    }

    /** Return the time after which sending ends, though planned records may be left. */
    long longestNs(double seconds) {
        return (long) (seconds * 1e9) * (fixed ? LONGEST_BACKLOG : 1);
    }

    /** Return the time from the start to the slot of the share's n-th record, counted from 0; no delay moves it. */
    long offsetNs(long index) {
        return (long) ((producer + index * producers) * (1e9 / recordsPerSecond));
    }
}
