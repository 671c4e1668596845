package io.kafkapareto.ingest;

/** Make the value of a record of a row's bytes. For one thread. */
interface RowEncoder {
    /** Return the value, or null where a field that is to be a number is none. */
    byte[] encode(byte[] array, int from, int to);
}
