package io.kafkapareto;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.function.Consumer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Kafka's own producer for Java. */
final class JavaClient implements LoadClient {
    private final Producer<byte[], byte[]> producer;
    private ObjectNode warmupMetrics;

    JavaClient(Producer<byte[], byte[]> producer) {
        this.producer = producer;
    }

    @Override
    public void send(ProducerRecord<byte[], byte[]> record, Consumer<Exception> completed) {
        producer.send(record, (metadata, failure) -> completed.accept(failure));
    }

    @Override
    public void flush() {
        producer.flush();
    }

    /** Record the totals of the warm-up, which {@link #metrics} excludes; its averages are of the last 30 s. */
    @Override
    public void endWarmup() {
        warmupMetrics = ClientMetrics.read(producer.metrics());
    }

    @Override
    public ClientMetrics.OfProducer metrics() {
        return new ClientMetrics.OfProducer(
                ClientMetrics.withTotalsSince(warmupMetrics, ClientMetrics.read(producer.metrics())),
                ClientMetrics.recordsSent(producer.metrics()));
    }

    @Override
    public void close() {
        producer.close(Duration.ZERO);
    }
}
