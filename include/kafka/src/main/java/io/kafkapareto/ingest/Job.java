package io.kafkapareto.ingest;

import java.util.function.Supplier;

/**
 * Holds what all instances of an ingestion share.
 *
 * @param reader how rows are read
 * @param senders in which threads they are sent
 * @param encoders makes an encoder for a thread; gives null where rows are sent as they are
 * @param partitioning says where the rows of a resumable ingestion go; null of any other
 * @param counts counts the rows of all instances: the tolerated share of malformed ones is of these
 * @param mostRowBytes the size of the largest row that fits a request
 */
record Job(
        CsvFile file, RowReader reader, Senders senders, Supplier<RowEncoder> encoders, Partitioning partitioning,
        MalformedRows malformed, ReadCounts counts, int mostRowBytes) {
}
