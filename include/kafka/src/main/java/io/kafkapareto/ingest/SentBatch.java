package io.kafkapareto.ingest;

import java.nio.ByteBuffer;
import org.apache.kafka.common.record.internal.MemoryRecords;

/**
 * One batch on its way to a partition.
 *
 * @param number its place in the order in which batches were handed over
 * @param buffer what holds the records, to be given back once they are acknowledged
 * @param handedOverMs when it was handed over, by the sender's time
 */
record SentBatch(
        long number, int partition, MemoryRecords records, ByteBuffer buffer, int rows, long rowBytes,
        long handedOverMs) {}
