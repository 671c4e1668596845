package io.kafkapareto;

/**
 * The rate of one of several producers. Its share is the load's records, counted from 0, whose index is
 * {@code producer} modulo {@code producers}.
 *
 * <p>A fixed pace gives every record a due time. Any other rate is only a limit, without due times. The rate is that of
 * the whole load; the slots of the shares interleave.
 */
record Pace(double recordsPerSecond, boolean fixed, Arrivals arrivals, int producer, int producers) {
    /** A configuration with a backlog may send for this many times the planned time. */
    private static final int LONGEST_BACKLOG = 3;

    /** Make the pace of a load with one producer and constant arrivals. */
    Pace(double recordsPerSecond, boolean fixed) {
        this(recordsPerSecond, fixed, Arrivals.constant(), 0, 1);
    }

    Pace withArrivals(Arrivals pattern) {
        return new Pace(recordsPerSecond, fixed, pattern, producer, producers);
    }

    Pace shareOf(int producer, int producers) {
        return new Pace(recordsPerSecond, fixed, arrivals, producer, producers);
    }

    /** Return this pace, its arrivals scaled so that the planned records take these seconds. */
    Pace scaledTo(double seconds) {
        return fixed ? withArrivals(arrivals.scaledTo(Math.round(recordsPerSecond * seconds))) : this;
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
        return (long) (arrivals.position(producer + index * producers) * (1e9 / recordsPerSecond));
    }
}
