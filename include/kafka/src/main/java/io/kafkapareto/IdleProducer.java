package io.kafkapareto;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** A producer that does no work: it acknowledges every record within the call of {@code send()} and discards it. */
final class IdleProducer extends MockProducer<byte[], byte[]> {
    private static final RecordMetadata DONE = new RecordMetadata(new TopicPartition("none", 0), 0, 0, 0, 0, 0);
    private static final Future<RecordMetadata> COMPLETED = CompletableFuture.completedFuture(DONE);

    IdleProducer() {
        super(true, null, new ByteArraySerializer(), new ByteArraySerializer());
    }

    @Override
    public Future<RecordMetadata> send(ProducerRecord<byte[], byte[]> sent, Callback callback) {
        callback.onCompletion(DONE, null);
        return COMPLETED;
    }
}
