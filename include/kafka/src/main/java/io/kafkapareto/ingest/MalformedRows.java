package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * Send malformed rows to the dead-letter topic, with line, byte offset and reason as headers, and count them.
 *
 * <p>Lines that are too large are truncated. The key is the byte offset. In a resumable ingestion each line is
 * acknowledged before the next row is processed: later rows would make a resumed run skip it, sent or not.
 */
final class MalformedRows implements AutoCloseable {
    private static final int TRUNCATED_BYTES = 64 << 10;
    private static final int HEADERS_BYTES = 128;
    /** The tolerated share refers to at least this many rows, so one early malformed row does not stop the run. */
    private static final long LEAST_ROWS = 10_000;

    private final String topic;
    private final Properties properties;
    private final double toleratedFraction;
    private final long lastSent;
    private final boolean isResumable;
    private final int mostBytes;
    private final Map<Fault, Long> counts = new EnumMap<>(Fault.class);
    private KafkaProducer<byte[], byte[]> producer;
    private String first = "";
    private Exception failure;
    private long total;
    private long lines;
    private boolean tooMany;

    /**
     * Lines up to the offset {@code lastSent} were sent by an interrupted run; -1 if none was.
     *
     * @param mostRowBytes the size of the largest row that fits a request
     */
    MalformedRows(
            String topic, Properties properties, double toleratedFraction, boolean isResumable, long lastSent,
            int mostRowBytes) {
        this.topic = topic;
        this.properties = (Properties) properties.clone();
        this.properties.put("acks", "all");
        this.properties.put("enable.idempotence", "true");
        if (isResumable) {
            this.properties.put("linger.ms", "0");
        }
        this.toleratedFraction = toleratedFraction;
        this.isResumable = isResumable;
        mostBytes = Math.max(Math.min(TRUNCATED_BYTES, mostRowBytes - HEADERS_BYTES), 0);
        this.lastSent = lastSent;
    }

    /** Send a line; return whether the ingestion may continue after this many rows. */
    boolean add(Fault fault, byte[] line, long offset, long lineNumber, long rowsRead) {
        count(fault, line, lineNumber, rowsRead);
        if (offset > lastSent) {
            Future<RecordMetadata> sent = send(fault, line, offset, lineNumber);
            if (isResumable) {
                await(sent);
            }
        }
        return mayGoOn();
    }

    private synchronized void count(Fault fault, byte[] line, long lineNumber, long rowsRead) {
        total++;
        lines++;
        for (byte each : line) {
            lines += each == '\n' ? 1 : 0;
        }
        counts.merge(fault, 1L, Long::sum);
        if (first.isEmpty()) {
            first = "line " + lineNumber + ": " + fault.reason() + ": " + CsvFile.shown(line, 0, line.length);
        }
        tooMany |= lines > toleratedFraction * Math.max(rowsRead, LEAST_ROWS);
    }

    /** Return whether every line was sent so far, and their number is tolerated. */
    synchronized boolean mayGoOn() {
        return !tooMany && failure == null;
    }

    private synchronized KafkaProducer<byte[], byte[]> connected() {
        if (producer == null) {
            producer = new KafkaProducer<>(properties);
        }
        return producer;
    }

    private Future<RecordMetadata> send(Fault fault, byte[] line, long offset, long lineNumber) {
        List<Header> headers = List.of(
                header("line", Long.toString(lineNumber)),
                header("byte_offset", Long.toString(offset)),
                header("reason", fault.code()));
        byte[] value = line.length > mostBytes ? Arrays.copyOf(line, mostBytes) : line;
        var record = new ProducerRecord<>(topic, 0, Partitioning.bytesOf(offset), value, headers);
        return connected().send(record, (metadata, error) -> {
            if (error != null) {
                fail(error);
            }
        });
    }

    /** Wait outside the monitor, which the producer's thread needs to report a failure. */
    private void await(Future<RecordMetadata> sent) {
        try {
            sent.get();
        } catch (ExecutionException error) {
            fail(error);
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
            fail(error);
        }
    }

    private synchronized void fail(Exception error) {
        failure = failure == null ? error : failure;
    }

    /** Wait until all are acknowledged. */
    void flush() throws IOException {
        if (producer != null) {
            producer.flush();
        }
        synchronized (this) {
            if (failure != null) {
                throw new IOException(topic + ": " + failure, failure);
            }
        }
    }

    synchronized long total() {
        return total;
    }

    /** Return their number of lines in the file: a missing quote joins many lines into one row. */
    synchronized long lines() {
        return lines;
    }

    /** Return whether the tolerated number was ever exceeded. */
    synchronized boolean areTooMany() {
        return tooMany;
    }

    /** Describe the first malformed row; empty if there is none. */
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
