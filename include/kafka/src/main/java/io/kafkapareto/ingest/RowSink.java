package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;

/** Take rows and send them to the topic. */
interface RowSink extends AutoCloseable {
    /** The header with a row's file offset, in a record whose key is the user's. */
    String ROW_OFFSET = "row_offset";

    /**
     * Take a row; its bytes may change once this returns.
     *
     * @param key the record's key, or null
     * @param rowOffset the row's file offset for the record's header {@link #ROW_OFFSET}, or null
     * @param partition the target partition, or -1 if the sink may choose
     */
    void send(byte[] array, int from, int to, byte[] key, byte[] rowOffset, int partition);

    /** Wait until all rows are acknowledged, or one has failed. */
    void flush();

    /** Return whether a row has failed, so sending must stop. */
    boolean hasFailed();

    /** Return the first failure; empty if there is none. */
    String failure();

    /**
     * Return whether it failed because a leader lost acknowledged rows: {@link #renew} lets it accept rows again.
     */
    default boolean hasLostRows() {
        return false;
    }

    /** Accept rows again as another producer, after a flush. */
    default void renew() {
        throw new UnsupportedOperationException("this sink never reports lost rows");
    }

    /** Return the acknowledged rows so far by partition, in an array owned by the caller. */
    long[] acknowledged();

    /** Return how many bytes of keys and values were acknowledged. */
    long acknowledgedBytes();

    /** Return how many rows were acknowledged so far. */
    default long acknowledgedRows() {
        return Arrays.stream(acknowledged()).sum();
    }

    /** Write how the rows were sent: sizes, requests and waiting. */
    void describe(ObjectNode described);

    @Override
    void close();
}
