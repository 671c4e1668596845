package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;

/** Take rows and send them to the topic. */
interface RowSink extends AutoCloseable {
    /**
     * Take a row; its bytes may change once this returns.
     *
     * @param key what the record's key is to be, or null
     * @param partition where it is to go, or -1 where the sink may choose
     */
    void send(byte[] array, int from, int to, byte[] key, int partition);

    /** Wait until all rows are acknowledged, or one has failed. */
    void flush();

    /** Return whether a row has failed: no more are to be sent. */
    boolean hasFailed();

    /** Return the first failure; empty where there is none. */
    String failure();

    /**
     * Return whether it has failed since a leader lost rows that were acknowledged: {@link #renew} lets it take rows again.
     */
    default boolean hasLostRows() {
        return false;
    }

    /** Take rows again, as another producer, once it is flushed. */
    default void renew() {
        throw new UnsupportedOperationException("this sink never says that rows were lost");
    }

    /** Return how many rows were acknowledged so far, by partition, in an array of the caller's. */
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
