package io.kafkapareto.aggregator;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * A queue that delivers events in batches, like Logstash's memory queue.
 *
 * <p>It has room for one batch per worker. Adding to a full queue blocks; Filebeat then gets no acknowledgement and
 * stops at its output's limit of unacknowledged events.
 */
final class EventQueue {
    private static final long IDLE_MS = 100;

    private final BlockingQueue<Event> events;
    private final int batchSize;
    private final long delayMs;

    /** An incomplete batch waits {@code delayMs} for each further event. */
    EventQueue(int workers, int batchSize, long delayMs) {
        events = new ArrayBlockingQueue<>(Math.multiplyExact(workers, batchSize));
        this.batchSize = batchSize;
        this.delayMs = delayMs;
    }

    /** Adds the event once there is room. */
    void put(Event event) throws InterruptedException {
        events.put(event);
    }

    /** Returns the next batch; empty if no event arrives for a while. */
    List<Event> take() throws InterruptedException {
        List<Event> batch = new ArrayList<>();
        Event next = events.poll(IDLE_MS, TimeUnit.MILLISECONDS);
        while (next != null) {
            batch.add(next);
            events.drainTo(batch, batchSize - batch.size());
            next = batch.size() < batchSize ? events.poll(delayMs, TimeUnit.MILLISECONDS) : null;
        }
        return batch;
    }
}
