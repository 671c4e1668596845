package io.kafkapareto.aggregator;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;

/**
 * Holds the events that no worker has taken yet, and hands them out in batches as Logstash's memory queue does.
 *
 * <p>It has room for a batch of each worker. Who adds to a full one waits; Filebeat then gets no acknowledgement, and
 * sends no more than its output allows without one.
 */
final class EventQueue {
    private static final long IDLE_MS = 100;

    private final BlockingQueue<Event> events;
    private final int batchSize;
    private final long delayMs;

    /**
     * Makes an empty queue.
     *
     * @param batchSize how many events a batch has at most
     * @param delayMs how long a batch that is not full waits for each further event
     */
    EventQueue(int workers, int batchSize, long delayMs) {
        events = new ArrayBlockingQueue<>(Math.multiplyExact(workers, batchSize));
        this.batchSize = batchSize;
        this.delayMs = delayMs;
    }

    /** Adds the event, as soon as there is room. */
    void put(Event event) throws InterruptedException {
        events.put(event);
    }

    /** Returns the next batch; an empty one where no event came for a while. */
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
