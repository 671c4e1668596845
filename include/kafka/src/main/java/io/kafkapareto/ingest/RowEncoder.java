package io.kafkapareto.ingest;

/** Encode a row's bytes as the value or the key of a record. For one thread. */
interface RowEncoder {
    /** Return the bytes, or null if a field is missing or does not have the type of its column. */
    byte[] encode(byte[] array, int from, int to);
}
