package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/** Send rows with the client's own producer; thread-safe. */
final class ProducerSink implements RowSink, Callback {
    private final Producer<byte[], byte[]> producer;
    private final String topic;
    /** Written only by the producer's I/O thread; a flush makes them visible. */
    private final long[] acknowledged;
    private long bytes;
    private volatile String failure = "";

    ProducerSink(Properties properties, String topic) {
        producer = new KafkaProducer<>(properties);
        this.topic = topic;
        acknowledged = new long[producer.partitionsFor(topic).size()];  // connects before the first row is read
    }

    @Override
    public void send(byte[] array, int from, int to, byte[] key, byte[] rowOffset, int partition) {
        byte[] value = from == 0 && to == array.length ? array : Arrays.copyOfRange(array, from, to);
        try {
            List<Header> headers = rowOffset == null ? List.of() : List.of(new RecordHeader(ROW_OFFSET, rowOffset));
            producer.send(new ProducerRecord<>(topic, partition < 0 ? null : partition, key, value, headers), this);
        } catch (KafkaException | IllegalStateException error) {  // also if it was closed after a failure
            fail(error);
        }
    }

    @Override
    public void onCompletion(RecordMetadata metadata, Exception error) {
        if (error != null) {
            fail(error);
            return;
        }
        acknowledged[metadata.partition()]++;
        bytes += Math.max(metadata.serializedKeySize(), 0) + metadata.serializedValueSize();
    }

    /** Close the producer immediately: later rows would hide the failed one from a resumed run. */
    private void fail(Exception error) {
        synchronized (this) {
            if (hasFailed()) {
                return;
            }
            failure = error.getClass().getSimpleName() + ": " + error.getMessage();
        }
        producer.close(Duration.ZERO);  // outside the monitor, which the callbacks of aborted records need
    }

    @Override
    public void flush() {
        if (!hasFailed()) {
            producer.flush();
        }
    }

    @Override
    public boolean hasFailed() {
        return !failure.isEmpty();
    }

    @Override
    public String failure() {
        return failure;
    }

    @Override
    public long[] acknowledged() {
        return acknowledged.clone();
    }

    @Override
    public long acknowledgedBytes() {
        return bytes;
    }

    @Override
    public void describe(ObjectNode described) {
        SinkMetrics.ofProducer(producer.metrics()).describe(described);
    }

    @Override
    public void close() {
        producer.close();
    }
}
