package io.kafkapareto.ingest;

import java.io.IOException;

/**
 * State shared by all instances of an ingestion.
 *
 * @param reader how rows are read
 * @param senders in which threads they are sent
 * @param partitioning says where the rows of a resumable ingestion go; null of any other
 * @param lastKeys reads anew what the topic of a resumable ingestion has
 * @param counts counts the rows of all instances: the tolerated share of malformed ones is of these
 */
record Job(
        CsvFile file, RowReader reader, Senders senders, Partitioning partitioning, LastKeys lastKeys,
        MalformedRows malformed, ReadCounts counts) {
    /** Read the key of each partition's last record. */
    interface LastKeys {
        long[] read() throws IOException;
    }
}
