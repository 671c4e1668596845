package io.kafkapareto.ingest;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Maps rows of a resumable ingestion to partitions, by their place in the file, in runs, so that a batch holds many
 * rows, though never more than a run's. Knows by the keys which rows the topic has already.
 */
final class Partitioning {
    /** 256 KiB of the file go to one partition. Another number would look for rows of a begun ingestion elsewhere. */
    private static final int RUN_BITS = 18;

    private final long[] lastOffsets;

    /** Take the offset in the file of the last row in each partition; -1 where it has none. */
    Partitioning(long[] lastOffsets) {
        this.lastOffsets = lastOffsets.clone();
    }

    /** Return the key of the row that begins at this place of the file. */
    static byte[] key(long offset) {
        return ByteBuffer.allocate(Long.BYTES).putLong(offset).array();
    }

    int partitionOf(long offset) {
        return (int) ((offset >>> RUN_BITS) % lastOffsets.length);
    }

    /** Return whether the topic has the row: each partition holds the first rows of its own, in order. */
    boolean has(long offset) {
        return offset <= lastOffsets[partitionOf(offset)];
    }

    /** Return a place of the file before which the topic has every row; it is the beginning of one. */
    long allBefore(long firstRow) {
        return Math.max(Arrays.stream(lastOffsets).min().orElse(-1), firstRow);
    }
}
