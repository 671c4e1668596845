package io.kafkapareto;

import static io.kafkapareto.SimulatedClock.MS;
import static io.kafkapareto.SimulatedClock.S;
import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

class LiveProducerTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final SimulatedClock clock = new SimulatedClock();
    private final long startedNs = clock.nanoTime();

    @Test
    void everyRecordHoldsItsDueTimeThoughSendingItWasLate() throws Exception {
        PacedProducer producer = new PacedProducer(clock, index -> index == 1 ? 25 * MS : 0);
        ObjectNode sent = JSON.createObjectNode();
        try (LiveProducer live = new LiveProducer("load", producer, new Payloads(null, 20, 0), 100, 0.05, clock)) {
            live.send(startedNs);
            live.describe(startedNs, sent);
        }

        List<Long> dueMs = producer.history().stream()
                .map(each -> (ByteBuffer.wrap(each.value()).getLong() - startedNs) / MS).toList();
        assertEquals(List.of(0L, 10L, 20L, 30L, 40L), dueMs);
        assertEquals(5, sent.get("acknowledged").asLong());
        assertEquals(5, sent.get("planned").asLong());
        assertEquals(20, producer.history().get(0).value().length);
    }

    @Test
    void lagIsWhatIsAcknowledgedAndUnreadAndHowLongAgoTheNextRecordWasDue() throws Exception {
        PacedProducer producer = new PacedProducer(clock);
        ArrayNode samples = JSON.createArrayNode();
        try (LiveProducer live = new LiveProducer("load", producer, new Payloads(null, 20, 0), 100, 1, clock)) {
            live.send(startedNs); // in simulated time, all is sent (until 0.99 s) before the first sample
            live.sampleLag(startedNs, startedNs + S / 2, () -> 40, () -> false, samples);
            live.sampleLag(startedNs, startedNs + S, () -> 100, () -> false, samples);
        }

        List<Long> lags = IntStream.range(0, samples.size())
                .mapToObj(each -> samples.get(each).get("lag_records").asLong()).toList();
        assertEquals(List.of(60L, 60L, 60L, 0L), lags);
        JsonNode last = samples.get(2);
        assertEquals(0.5, last.get("at_s").asDouble(), 1e-9);
        assertEquals(1.0 - 0.4, last.get("lag_s").asDouble(), 1e-9);
        assertEquals(0, samples.get(3).get("lag_s").asDouble());
    }

    @Test
    void aGroupThatHasEndedIsLookedAtNoMore() throws Exception {
        ArrayNode samples = JSON.createArrayNode();
        try (LiveProducer live = new LiveProducer(
                "load", new PacedProducer(clock), new Payloads(null, 20, 0), 100, 1, clock)) {
            live.sampleLag(startedNs, startedNs, () -> 0, () -> true, samples);
        }

        assertEquals(0, samples.size());
    }
}
