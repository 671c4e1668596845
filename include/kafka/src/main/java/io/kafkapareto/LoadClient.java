package io.kafkapareto;

import java.util.function.Consumer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** A producer under load: Kafka's own for Java, or librdkafka. Calls must not overlap. */
interface LoadClient extends AutoCloseable {
    /**
     * Send a record, waiting for buffer space if necessary. {@code completed} is called once, in any thread: with null
     * when the record is acknowledged, else with the failure. If this throws, it is not called.
     */
    void send(ProducerRecord<byte[], byte[]> record, Consumer<Exception> completed);

    /** Return when every record sent so far is completed. */
    void flush();

    /** Discard the metrics so far; called after a flush. */
    void endWarmup();

    /**
     * Return the metrics since the warm-up, as far as the client reports those that {@link ClientMetrics} names; called
     * after a flush.
     */
    ClientMetrics.OfProducer metrics();

    /** Close the client immediately. */
    @Override
    void close();
}
