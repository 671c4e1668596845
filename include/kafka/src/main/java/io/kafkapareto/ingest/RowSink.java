package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Arrays;

/** Takes rows and sends them to the topic. */
interface RowSink extends AutoCloseable {
    /**
     * Takes a row; its bytes may change once this returns.
     *
     * @param key what the record's key is to be, or null
     * @param partition where it is to go, or -1 where the sink may choose
     */
    void send(byte[] array, int from, int to, byte[] key, int partition);

    /** Waits until all rows are acknowledged, or one has failed. */
    void flush();

    /** Tells whether a row has failed: no more are to be sent. */
    boolean hasFailed();

    /** Returns the first failure; empty where there is none. */
    String failure();

    /**
     * Tells whether it has failed since a leader lost rows that were acknowledged: {@link #renew} lets it take rows again.
     */
    default boolean hasLostRows() {
        return false;
    }

    /** Takes rows again, as another producer, once it is flushed. */
    default void renew() {
        throw new UnsupportedOperationException("this sink never says that rows were lost");
    }

    /** Returns these counts and what was acknowledged, by partition; they may be empty. */
    default long[] addAcknowledged(long[] rowsByPartition) {
        long[] sums = acknowledged();
        for (int partition = 0; partition < rowsByPartition.length; partition++) {
            sums[partition] += rowsByPartition[partition];
        }
        return sums;
    }

    /** Returns how many rows were acknowledged so far, by partition, in an array of the caller's. */
    long[] acknowledged();

    /** Returns how many bytes of keys and values were acknowledged. */
    long acknowledgedBytes();

    /** Returns how many rows were acknowledged so far. */
    default long acknowledgedRows() {
        return Arrays.stream(acknowledged()).sum();
    }

    /** Writes how the rows were sent: sizes, requests and waiting. */
    void describe(ObjectNode described);

    @Override
    void close();
}
