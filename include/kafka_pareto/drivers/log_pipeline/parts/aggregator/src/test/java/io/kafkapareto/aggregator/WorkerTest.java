package io.kafkapareto.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

@Timeout(60)
class WorkerTest {
    private static final long DELAY_MS = 1_000;

    private final HeldProducer producer = new HeldProducer();
    private final EventQueue queue = new EventQueue(10, 2, 50);
    private final Counters counters = new Counters();
    private final List<Exception> answers = Collections.synchronizedList(new ArrayList<>());
    private Thread thread;

    @AfterEach
    void end() throws Exception {
        thread.interrupt();
        thread.join();
    }

    @Test
    void theNextBatchIsSentOnceEachRecordOfTheLastOneIsAnswered() throws Exception {
        start(PlantedDelay.Place.RECEIVE, 0);
        put("a", "b", "c");
        producer.next();
        producer.next();
        producer.acknowledge("b");

        Thread.sleep(300);
        assertEquals(0, producer.ahead());
        producer.acknowledge("a");
        assertEquals("c", producer.next().get("request_id").textValue());
        producer.acknowledge("c");
        assertEquals(
                "{\"received\":0,\"sent\":3,\"acknowledged\":3,\"failed\":0,\"malformed\":0,\"batches\":2,"
                        + "\"mean_batch_size\":1.5}",
                counters.described().toString());
    }

    @Test
    void aFailureIsReportedAndCounted() throws Exception {
        start(PlantedDelay.Place.RECEIVE, 0);
        put("a");
        producer.next();
        Exception failure = new TimeoutException("no answer");
        producer.fail("a", failure);

        assertSame(failure, answers.get(0));
        assertEquals(1, counters.failed.sum());
    }

    @Test
    void aClosedProducerFailsTheEventsAndTheWorkerContinues() throws Exception {
        producer.close();
        start(PlantedDelay.Place.RECEIVE, 0);
        put("a", "b", "c");
        while (answers.size() < 3) {
            Thread.sleep(10);
        }

        assertTrue(answers.stream().allMatch(IllegalStateException.class::isInstance), answers.toString());
    }

    @Test
    void aMalformedMessageIsSentAndCounted() throws Exception {
        start(PlantedDelay.Place.RECEIVE, 0);
        queue.put(new Event(Events.fields("no JSON"), 0, answers::add));

        assertEquals("no JSON", producer.next().get("malformed").textValue());
        assertEquals(1, counters.malformed.sum());
    }

    @ParameterizedTest
    @EnumSource
    void aPlantedDelayIsBeforeOrAfterTheTimestamp(PlantedDelay.Place place) throws Exception {
        start(place, DELAY_MS);
        long putMs = put("a");
        long stampedMs = producer.next().get("t4").longValue();
        long sentMs = System.currentTimeMillis();

        assertEquals(place == PlantedDelay.Place.RECEIVE, stampedMs - putMs >= DELAY_MS);
        assertEquals(place == PlantedDelay.Place.SEND, sentMs - stampedMs >= DELAY_MS);
    }

    private void start(PlantedDelay.Place place, long delayMs) {
        PlantedDelay delay = new PlantedDelay(place, delayMs);
        thread = new Thread(new Worker(queue, producer, "logs", delay, InstantSource.system(), counters));
        thread.start();
    }

    private long put(String... requestIds) throws InterruptedException {
        long nowMs = System.currentTimeMillis();
        for (String each : requestIds) {
            queue.put(new Event(Events.fields(Events.line(each)), nowMs, answers::add));
        }
        return nowMs;
    }
}
