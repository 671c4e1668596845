package io.kafkapareto.ingest;

import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.clients.producer.internals.BuiltInPartitioner;

/**
 * Maps rows of a resumable ingestion to partitions: by their keys, as Kafka's own producer does, or else by their file
 * offsets. Then consecutive rows form runs, so a batch holds many rows of one run. The file offsets in the records show
 * which rows are already in the topic.
 */
final class Partitioning {
    /** 256 KiB of the file go to one partition. Changing this would break the resumption of begun ingestions. */
    private static final int RUN_BITS = 18;

    private final long[] lastOffsets;

    /** Set the file offset of the last row in each partition; -1 if it has none. */
    Partitioning(long[] lastOffsets) {
        this.lastOffsets = lastOffsets.clone();
    }

    /** Return a row's file offset as it is kept in its record. */
    static byte[] bytesOf(long offset) {
        return ByteBuffer.allocate(Long.BYTES).putLong(offset).array();
    }

    /** Return the partition of the row at this file offset; {@code key} is null for rows without keys. */
    int partitionOf(long offset, byte[] key) {
        return key == null ? (int) ((offset >>> RUN_BITS) % lastOffsets.length)
                : BuiltInPartitioner.partitionForKey(key, lastOffsets.length);
    }

    /** Return whether the partition has the row: each holds the first rows of its own, in order. */
    boolean has(long offset, int partition) {
        return offset <= lastOffsets[partition];
    }

    /** Return the start of a row before which the topic has every row. */
    long allBefore(long firstRow) {
        return Math.max(Arrays.stream(lastOffsets).min().orElse(-1), firstRow);
    }
}
