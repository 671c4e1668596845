package io.kafkapareto.ingest;

import java.nio.ByteBuffer;
import java.util.Arrays;

/**
 * Maps rows of a resumable ingestion to partitions by their file offsets. Consecutive rows form runs, so a batch holds
 * many rows of one run. The keys show which rows are already in the topic.
 */
final class Partitioning {
    /** 256 KiB of the file go to one partition. Changing this would break the resumption of begun ingestions. */
    private static final int RUN_BITS = 18;

    private final long[] lastOffsets;

    /** Set the file offset of the last row in each partition; -1 if it has none. */
    Partitioning(long[] lastOffsets) {
        this.lastOffsets = lastOffsets.clone();
    }

    /** Return the key of the row at this file offset. */
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

    /** Return the start of a row before which the topic has every row. */
    long allBefore(long firstRow) {
        return Math.max(Arrays.stream(lastOffsets).min().orElse(-1), firstRow);
    }
}
