package io.kafkapareto;

/**
 * How fast records go out. A fixed pace gives every record a due time; any other rate is a mere ceiling, without due
 * times.
 */
record Pace(double recordsPerSecond, boolean fixed) {
    /** A configuration that cannot keep up works off its backlog for this many times the planned time, no longer. */
    private static final int LONGEST_BACKLOG = 3;

    /** Returns how many records are planned; as many as there is time for where the pace is not fixed. */
    long records(double seconds) {
        return fixed ? Math.round(recordsPerSecond * seconds) : Long.MAX_VALUE;
    }

    /** Returns the time after which sending ends, though planned records may be left. */
    long longestNs(double seconds) {
        return (long) (seconds * 1e9) * (fixed ? LONGEST_BACKLOG : 1);
    }

    /** Returns the time from the start to the record's slot, which no earlier delay moves. */
    long offsetNs(long index) {
        return (long) (index * (1e9 / recordsPerSecond));
    }
}
