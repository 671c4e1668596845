package io.kafkapareto.ingest;

import java.util.concurrent.atomic.LongAdder;

/**
 * Count what all instances of an ingestion have read together.
 *
 * @param rows those that were checked, malformed ones among them
 * @param skippedRows those that the topic had already
 * @param bytes of the rows that were checked, with their ends
 */
record ReadCounts(LongAdder rows, LongAdder skippedRows, LongAdder bytes) {
    ReadCounts() {
        this(new LongAdder(), new LongAdder(), new LongAdder());
    }

    /** Return how many rows were read so far, sent or not. */
    long allRows() {
        return rows.sum() + skippedRows.sum();
    }
}
