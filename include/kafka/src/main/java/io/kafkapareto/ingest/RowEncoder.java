package io.kafkapareto.ingest;

/** Makes the value of a record of a row's bytes. For one thread. */
interface RowEncoder {
    /** Returns the value, or null where a field that is to be a number is none. */
    byte[] encode(byte[] array, int from, int to);
}
