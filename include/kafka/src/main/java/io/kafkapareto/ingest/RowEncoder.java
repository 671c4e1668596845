package io.kafkapareto.ingest;

/** Encode a row's bytes as a record value. For one thread. */
interface RowEncoder {
    /** Return the value, or null if a numeric field does not contain a number. */
    byte[] encode(byte[] array, int from, int to);
}
