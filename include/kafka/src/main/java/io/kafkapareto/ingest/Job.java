package io.kafkapareto.ingest;

import java.io.IOException;

/**
 * State shared by all instances of an ingestion.
 *
 * @param reader how rows are read
 * @param senders the threads that send them
 * @param partitioning maps the rows of a resumable ingestion to partitions; null for others
 * @param keyColumns the columns that become the record's key, counted from 0; empty for none
 * @param lastRows rereads the progress in the topic of a resumable ingestion
 * @param counts counts the rows of all instances, the base of the tolerated share of malformed ones
 */
record Job(
        CsvFile file, RowReader reader, Senders senders, Partitioning partitioning, int[] keyColumns,
        LastRows lastRows, MalformedRows malformed, ReadCounts counts) {
    /** Read the file offset of each partition's last row. */
    interface LastRows {
        long[] read() throws IOException;
    }
}
