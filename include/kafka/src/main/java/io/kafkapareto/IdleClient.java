package io.kafkapareto;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** A client that does no work: it acknowledges every record within the call of {@code send()} and discards it. */
final class IdleClient implements LoadClient {
    @Override
    public void send(ProducerRecord<byte[], byte[]> record, Consumer<Exception> completed) {
        completed.accept(null);
    }

    @Override
    public void flush() {}

    @Override
    public void endWarmup() {}

    @Override
    public ClientMetrics.OfProducer metrics() {
        return new ClientMetrics.OfProducer(JsonNodeFactory.instance.objectNode(), 0);
    }

    @Override
    public void close() {}
}
