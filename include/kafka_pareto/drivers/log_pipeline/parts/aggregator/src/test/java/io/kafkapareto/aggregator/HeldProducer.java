package io.kafkapareto.aggregator;

import static org.junit.jupiter.api.Assertions.assertNotNull;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.util.Map;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A MockProducer whose records the test answers, in any order. */
final class HeldProducer extends MockProducer<byte[], byte[]> {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int WITHIN_S = 10;

    private final BlockingQueue<JsonNode> sent = new LinkedBlockingQueue<>();
    private final Map<String, Callback> callbacks = new ConcurrentHashMap<>();

    HeldProducer() {
        super(false, null, new ByteArraySerializer(), new ByteArraySerializer());
    }

    @Override
    public synchronized Future<RecordMetadata> send(ProducerRecord<byte[], byte[]> record, Callback callback) {
        JsonNode value;
        try {
            value = JSON.readTree(record.value());
        } catch (IOException error) {
            throw new IllegalStateException(error);
        }
        callbacks.put(value.path("request_id").asText(), callback);
        sent.add(value);
        return super.send(record, null);
    }

    /** Waits for the next value sent and returns it. */
    JsonNode next() throws InterruptedException {
        JsonNode value = sent.poll(WITHIN_S, TimeUnit.SECONDS);
        assertNotNull(value, "no value was sent");
        return value;
    }

    /** Returns how many more values were sent. */
    int ahead() {
        return sent.size();
    }

    void acknowledge(String requestId) {
        fail(requestId, null);
    }

    void fail(String requestId, Exception failure) {
        callbacks.remove(requestId).onCompletion(null, failure);
    }
}
