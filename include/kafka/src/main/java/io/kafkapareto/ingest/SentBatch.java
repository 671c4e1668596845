package io.kafkapareto.ingest;

import java.nio.ByteBuffer;
import org.apache.kafka.common.record.internal.MemoryRecords;

/**
 * One batch on its way to a partition.
 *
 * @param number its position in the order of submission
 * @param buffer holds the records; returned once they are acknowledged
 * @param submittedMs time of submission, by the sender's clock
 */
record SentBatch(
        long number, int partition, MemoryRecords records, ByteBuffer buffer, int rows, long rowBytes,
        long submittedMs) {}
