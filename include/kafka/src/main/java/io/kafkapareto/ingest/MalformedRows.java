package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * Sends what is no row to a topic of its own, with line, byte offset and reason as headers, and counts it.
 *
 * <p>Of a line that is too large its beginning is sent. The key is the byte offset.
 */
final class MalformedRows implements AutoCloseable {
    private static final int TRUNCATED_BYTES = 64 << 10;
    /** The tolerated share is of at least so many rows: one bad row among the first is no reason to stop. */
    private static final long LEAST_ROWS = 10_000;

    private final String topic;
    private final Properties properties;
    private final double toleratedFraction;
    private final long lastSent;
    private final Map<Fault, Long> counts = new EnumMap<>(Fault.class);
    private KafkaProducer<byte[], byte[]> producer;
    private String first = "";
    private Exception failure;
    private long total;
    private boolean tooMany;

    /** Lines up to the offset {@code lastSent} are there already, from an interrupted run; -1 if none is. */
    MalformedRows(String topic, Properties properties, double toleratedFraction, long lastSent) {
        this.topic = topic;
        this.properties = new Properties();
        this.properties.putAll(properties);
        this.properties.put("acks", "all");
        this.properties.put("enable.idempotence", "true");
        this.toleratedFraction = toleratedFraction;
        this.lastSent = lastSent;
    }

    /** Sends a line; returns whether that is still tolerated after so many rows. */
    synchronized boolean add(Fault fault, byte[] line, long offset, long lineNumber, long rowsRead) {
        total++;
        counts.merge(fault, 1L, Long::sum);
        if (first.isEmpty()) {
            first = "line " + lineNumber + ": " + fault.reason() + ": " + CsvFile.shown(line, 0, line.length);
        }
        if (offset > lastSent) {
            send(fault, line, offset, lineNumber);
        }
        tooMany |= total > toleratedFraction * Math.max(rowsRead, LEAST_ROWS);
        return !tooMany;
    }

    private void send(Fault fault, byte[] line, long offset, long lineNumber) {
        if (producer == null) {
            producer = new KafkaProducer<>(properties);
        }
        List<Header> headers = List.of(
                header("line", Long.toString(lineNumber)),
                header("byte_offset", Long.toString(offset)),
                header("reason", fault.code()));
        byte[] value = line.length > TRUNCATED_BYTES ? Arrays.copyOf(line, TRUNCATED_BYTES) : line;
        producer.send(new ProducerRecord<>(topic, 0, Partitioning.key(offset), value, headers), (metadata, error) -> {
            if (error != null) {
                fail(error);
            }
        });
    }

    private synchronized void fail(Exception error) {
        failure = failure == null ? error : failure;
    }

    /** Waits until all are acknowledged. */
    void flush() throws IOException {
        if (producer != null) {
            producer.flush();
        }
        synchronized (this) {
            if (failure != null) {
                throw new IOException(topic + ": " + failure.getMessage(), failure);
            }
        }
    }

    synchronized long total() {
        return total;
    }

    /** Tells whether there were more at some time than is tolerated. */
    synchronized boolean areTooMany() {
        return tooMany;
    }

    /** Describes the first of them; empty where there is none. */
    synchronized String first() {
        return first;
    }

    synchronized void describe(ObjectNode described) {
        counts.forEach((fault, count) -> described.put(fault.code(), count));
    }

    private static Header header(String name, String text) {
        return new RecordHeader(name, text.getBytes(StandardCharsets.UTF_8));
    }

    @Override
    public void close() {
        if (producer != null) {
            producer.close();
        }
    }
}
