package io.kafkapareto.aggregator;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.concurrent.atomic.LongAdder;

/** Counts events and batches. */
final class Counters {
    final LongAdder received = new LongAdder();
    final LongAdder sent = new LongAdder();
    final LongAdder acknowledged = new LongAdder();
    final LongAdder failed = new LongAdder();
    final LongAdder malformed = new LongAdder();
    final LongAdder batches = new LongAdder();
    private final LongAdder batchedEvents = new LongAdder();

    void countBatch(int events) {
        batches.increment();
        batchedEvents.add(events);
    }

    /** Returns all counts; the mean size is null without a batch. */
    ObjectNode described() {
        ObjectNode described = JsonNodeFactory.instance.objectNode()
                .put("received", received.sum())
                .put("sent", sent.sum())
                .put("acknowledged", acknowledged.sum())
                .put("failed", failed.sum())
                .put("malformed", malformed.sum())
                .put("batches", batches.sum());
        Double mean = batches.sum() > 0 ? (double) batchedEvents.sum() / batches.sum() : null;
        return described.put("mean_batch_size", mean);
    }
}
