package io.kafkapareto;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.BooleanSupplier;
import java.util.function.LongSupplier;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;

/**
 * The producer of a live group: it sends at a fixed rate, and samples the group's lag.
 *
 * <p>The first eight bytes of each value are the record's due time by this JVM's clock.
 */
final class LiveProducer implements AutoCloseable {
    private static final long SAMPLE_EVERY_NS = 250_000_000;

    private final Sender sender;
    private final Pace pace;
    private final double seconds;
    private final MonotonicClock clock;

    LiveProducer(
            String topic, Producer<byte[], byte[]> producer, Payloads payloads, double recordsPerSecond, double seconds,
            MonotonicClock clock) {
        pace = new Pace(recordsPerSecond, true);
        sender = new Sender(
                new JavaClient(producer), dueNs -> stamped(payloads.next(topic), dueNs), pace, clock,
                new AtomicBoolean(), false);
        this.seconds = seconds;
        this.clock = clock;
    }

    /** Send from then on, and return when all records are acknowledged or have failed. */
    void send(long startedNs) {
        sender.send(startedNs, seconds);
    }

    /**
     * Sample every quarter of a second, from {@code fromNs} to the end of the planned time, the number of acknowledged
     * records the group has not read yet, and the age of the next one by due time.
     */
    void sampleLag(long startedNs, long fromNs, LongSupplier recordsRead, BooleanSupplier stopped, ArrayNode samples) {
        long untilNs = startedNs + (long) (1e9 * seconds);
        long planned = pace.records(seconds);
        for (long atNs = fromNs; atNs - untilNs <= 0 && !stopped.getAsBoolean(); atNs += SAMPLE_EVERY_NS) {
            clock.waitUntil(atNs);
            long read = recordsRead.getAsLong();
            long nowNs = clock.nanoTime();
            long sinceDueNs = read < planned ? nowNs - startedNs - pace.offsetNs(read) : 0;
            samples.addObject()
                    .put("at_s", (nowNs - fromNs) / 1e9)
                    .put("lag_records", Math.max(sender.outcomes.acknowledged() - read, 0))
                    .put("lag_s", Math.max(sinceDueNs, 0) / 1e9);
        }
    }

    /** Describe the records sent, once all are acknowledged or have failed. */
    void describe(long startedNs, ObjectNode sent) {
        sent.put("planned", pace.records(seconds));
        sent.put("attempted", sender.attempted());
        sent.put("sending_s", (sender.endedNs() - startedNs) / 1e9);
        sender.outcomes.describe(sent);
    }

    @Override
    public void close() {
        sender.close();
    }

    private static ProducerRecord<byte[], byte[]> stamped(ProducerRecord<byte[], byte[]> record, long dueNs) {
        byte[] value = record.value().clone(); // shared with other records
        ByteBuffer.wrap(value).putLong(dueNs);
        return new ProducerRecord<>(record.topic(), record.key(), value);
    }
}
