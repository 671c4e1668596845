package io.kafkapareto.ingest;

import java.io.IOException;

/**
 * State shared by all instances of an ingestion.
 *
 * @param reader how rows are read
 * @param senders the threads that send them
 * @param partitioning maps the rows of a resumable ingestion to partitions; null for others
 * @param lastKeys rereads the progress in the topic of a resumable ingestion
 * @param counts counts the rows of all instances, the base of the tolerated share of malformed ones
 */
record Job(
        CsvFile file, RowReader reader, Senders senders, Partitioning partitioning, LastKeys lastKeys,
        MalformedRows malformed, ReadCounts counts) {
    /** Read the key of each partition's last record. */
    interface LastKeys {
        long[] read() throws IOException;
    }
}
