package io.kafkapareto.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class EventQueueTest {
    @Test
    void aFullBatchDoesNotWait() throws Exception {
        EventQueue queue = new EventQueue(2, 3, 60_000);
        put(queue, 5, 0);

        assertEquals(List.of(0L, 1L, 2L), taken(queue));
    }

    @Test
    void anIncompleteBatchWaitsForEachFurtherEvent() throws Exception {
        EventQueue queue = new EventQueue(1, 100, 1_000);
        CompletableFuture<Void> putting = CompletableFuture.runAsync(() -> put(queue, 5, 150));
        long beganNs = System.nanoTime();

        assertEquals(List.of(0L, 1L, 2L, 3L, 4L), taken(queue));
        long tookMs = (System.nanoTime() - beganNs) / 1_000_000;
        assertTrue(tookMs >= 4 * 150 + 1_000, "no full delay after the last event: " + tookMs + " ms");
        putting.join();
    }

    @Test
    void aBatchOfOneNeverWaits() throws Exception {
        EventQueue queue = new EventQueue(2, 1, 60_000);
        put(queue, 2, 0);

        assertEquals(List.of(0L), taken(queue));
        assertEquals(List.of(1L), taken(queue));
    }

    @Test
    void anIdleQueueReturnsAnEmptyBatch() throws Exception {
        assertEquals(List.of(), taken(new EventQueue(1, 10, 60_000)));
    }

    @Test
    void thereIsRoomForABatchOfEachWorkerAndNoMore() throws Exception {
        EventQueue queue = new EventQueue(2, 3, 1);
        CompletableFuture<Void> putting = CompletableFuture.runAsync(() -> put(queue, 7, 0));

        Thread.sleep(300);
        assertFalse(putting.isDone());
        taken(queue);
        putting.get(10, TimeUnit.SECONDS);
    }

    private static List<Long> taken(EventQueue queue) throws InterruptedException {
        return queue.take().stream().map(Event::receivedMs).toList();
    }

    private static void put(EventQueue queue, int events, long everyMs) {
        try {
            for (int number = 0; number < events; number++) {
                queue.put(new Event(null, number, failure -> { }));
                Thread.sleep(everyMs);
            }
        } catch (InterruptedException error) {
            throw new CompletionException(error);
        }
    }
}
