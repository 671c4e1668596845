package io.kafkapareto.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests the whole aggregator over the Beats protocol; only the producer is a stand-in. */
@Timeout(60)
class AggregatorTest {
    private static final int LONG_MS = 10_000;
    private static final int SHORT_MS = 500;

    private final HeldProducer producer = new HeldProducer();
    private Aggregator aggregator;
    private BeatsClient client;

    @AfterEach
    void end() throws Exception {
        if (client != null) {
            client.close();
        }
        aggregator.end();
    }

    @Test
    void aWindowIsAcknowledgedOnceKafkaHasAcknowledgedEachEventInAnyOrder() throws Exception {
        start("--workers", "3", "--batch-size", "1");
        client.send(windowOf("a", "b", "c"));
        takeThree();

        producer.acknowledge("c");
        producer.acknowledge("b");
        assertEquals(BeatsClient.NOTHING, client.acknowledged(SHORT_MS));
        producer.acknowledge("a");
        assertEquals(3, client.acknowledged(LONG_MS));
    }

    @Test
    void aWindowWithAFailedEventIsNotAcknowledgedAndTheConnectionIsClosed() throws Exception {
        start("--batch-size", "3");
        client.send(windowOf("a", "b", "c"));
        takeThree();

        producer.acknowledge("c");
        producer.acknowledge("b");
        producer.fail("a", new TimeoutException("no answer"));
        assertEquals(BeatsClient.CLOSED, client.acknowledged(LONG_MS));
    }

    @Test
    void eachOfSeveralWindowsInFlightIsAcknowledged() throws Exception {
        start("--batch-size", "2");
        client.send(windowOf("a", "b"));
        client.send(windowOf("c"));
        takeThree();

        producer.acknowledge("c");
        assertEquals(BeatsClient.NOTHING, client.acknowledged(SHORT_MS));
        producer.acknowledge("a");
        producer.acknowledge("b");
        assertEquals(2, client.acknowledged(LONG_MS));
        assertEquals(1, client.acknowledged(LONG_MS));
    }

    @Test
    void receivedEventsAreAcknowledgedBeforeKafkaHasThem() throws Exception {
        start("--acknowledge", "received");
        client.send(windowOf("a", "b", "c"));

        assertEquals(3, client.acknowledged(LONG_MS));
        takeThree();
        List.of("a", "b", "c").forEach(producer::acknowledge);
    }

    @Test
    void timestampsNeverDecrease() throws Exception {
        start();
        long sentMs = System.currentTimeMillis();
        client.send(windowOf("a"));
        JsonNode value = producer.next();
        producer.acknowledge("a");

        assertTrue(sentMs <= value.get("t3").longValue(), value.toString());
        assertTrue(value.get("t3").longValue() <= value.get("t4").longValue(), value.toString());
        assertTrue(value.get("t4").longValue() <= System.currentTimeMillis(), value.toString());
    }

    @Test
    void shutdownWaitsForReceivedEventsAndAcknowledgesThem() throws Exception {
        start();
        client.send(windowOf("a", "b", "c"));
        takeThree();
        CompletableFuture<Boolean> ending = CompletableFuture.supplyAsync(this::isDrained);
        Thread.sleep(SHORT_MS);
        assertFalse(ending.isDone());

        List.of("a", "b", "c").forEach(producer::acknowledge);
        assertEquals(3, client.acknowledged(LONG_MS));
        assertTrue(ending.join());
        assertEquals(BeatsClient.CLOSED, client.acknowledged(LONG_MS));
        assertEquals(3, aggregator.counters().get("acknowledged").intValue());
    }

    @Test
    void shutdownReportsEventsThatKafkaDidNotAcknowledgeInTime() throws Exception {
        start("--drain-s", "1");
        client.send(windowOf("a", "b", "c"));
        takeThree();

        assertFalse(aggregator.end());
        assertEquals(BeatsClient.CLOSED, client.acknowledged(LONG_MS));
    }

    @Test
    void eventsReceivedDuringShutdownAreNotAcknowledged() throws Exception {
        start();
        client.send(windowOf("a"));
        producer.next();
        CompletableFuture<Boolean> ending = CompletableFuture.supplyAsync(this::isDrained);
        Thread.sleep(SHORT_MS);
        client.send(windowOf("b"));
        Thread.sleep(SHORT_MS);
        producer.acknowledge("a");

        assertEquals(1, client.acknowledged(LONG_MS));
        assertEquals(BeatsClient.CLOSED, client.acknowledged(LONG_MS));
        assertTrue(ending.join());
        assertEquals(0, producer.ahead());
    }

    @Test
    void aPortInUseIsAnError() throws Exception {
        try (ServerSocket taken = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            aggregator = aggregatorOf("--port", String.valueOf(taken.getLocalPort()));

            assertThrows(Exception.class, aggregator::start);
        }
    }

    private void start(String... options) throws Exception {
        aggregator = aggregatorOf(options);
        client = new BeatsClient(aggregator.start());
    }

    private Aggregator aggregatorOf(String... options) throws ArgumentParserException {
        List<String> arguments = new ArrayList<>(List.of("--bootstrap-servers", "127.0.0.1:9092", "--topic", "logs"));
        arguments.addAll(List.of(options));
        AggregatorOptions read = AggregatorOptions.read(AggregatorOptions.parser(), arguments.toArray(String[]::new));
        return new Aggregator(read, producer, InstantSource.system());
    }

    private boolean isDrained() {
        try {
            return aggregator.end();
        } catch (InterruptedException error) {
            throw new IllegalStateException(error);
        }
    }

    private void takeThree() throws InterruptedException {
        for (int number = 0; number < 3; number++) {
            producer.next();
        }
    }

    private static List<String> windowOf(String... requestIds) throws IOException {
        List<String> window = new ArrayList<>();
        for (String each : requestIds) {
            window.add(Events.json(Events.line(each)));
        }
        return window;
    }
}
