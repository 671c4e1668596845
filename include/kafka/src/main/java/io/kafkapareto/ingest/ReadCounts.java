package io.kafkapareto.ingest;

import java.util.concurrent.atomic.LongAdder;

/**
 * Count the rows and bytes read by all instances of an ingestion.
 *
 * @param rows checked rows, including malformed ones
 * @param skippedRows rows already in the topic
 * @param bytes size of the checked rows, including line ends
 */
record ReadCounts(LongAdder rows, LongAdder skippedRows, LongAdder bytes) {
    ReadCounts() {
        this(new LongAdder(), new LongAdder(), new LongAdder());
    }

    /** Return the number of rows read so far, sent or not. */
    long allRows() {
        return rows.sum() + skippedRows.sum();
    }
}
