package io.kafkapareto;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.time.Duration;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongFunction;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;

/** One producer of a part, in a thread that calls its {@code send()}. */
final class Sender implements AutoCloseable {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    final LatencyStatistics outcomes;
    private final Producer<byte[], byte[]> producer;
    private final LongFunction<ProducerRecord<byte[], byte[]>> records;
    private final Pace pace;
    private final MonotonicClock clock;
    private ObjectNode warmupMetrics;
    private long attempted;
    private long endedNs;
    private long cpuNs;

    /**
     * Take the next record from {@code records}, given the time at which it is due. A failure of any sender that shares
     * {@code failed} ends the sending of all.
     */
    Sender(
            Producer<byte[], byte[]> producer, LongFunction<ProducerRecord<byte[], byte[]>> records, Pace pace,
            MonotonicClock clock, AtomicBoolean failed) {
        this.producer = producer;
        this.records = records;
        this.pace = pace;
        this.clock = clock;
        outcomes = new LatencyStatistics(clock, failed);
    }

    /** Return how many records were due; as many as were tried where none has a due time. */
    long planned(double seconds) {
        return pace.fixed() ? pace.records(seconds) : attempted;
    }

    /** Return how many records the last sending tried. */
    long attempted() {
        return attempted;
    }

    /** Return when its last sending was over, before the producer was flushed. */
    long endedNs() {
        return endedNs;
    }

    /** Return the CPU time of the last sending's thread while it sent. */
    long cpuNs() {
        return cpuNs;
    }

    /** Note the totals of the warm-up, which are no part of what {@link #metrics} returns later. */
    void endWarmup() {
        warmupMetrics = ClientMetrics.read(producer.metrics());
    }

    ClientMetrics.OfProducer metrics() {
        return new ClientMetrics.OfProducer(
                ClientMetrics.withTotalsSince(warmupMetrics, ClientMetrics.read(producer.metrics())),
                ClientMetrics.recordsSent(producer.metrics()));
    }

    /** Send from {@code startedNs} on until the records or the time are used up, or one has failed; then flush. */
    void send(long startedNs, double seconds) {
        long cpuBeforeNs = THREADS.getCurrentThreadCpuTime();
        attempted = 0;
        while (attempted < pace.records(seconds)
                && clock.nanoTime() - startedNs < pace.longestNs(seconds)
                && !outcomes.failed()) {
            long slotNs = startedNs + pace.offsetNs(attempted);
            clock.waitUntil(slotNs);
            long sentNs = clock.nanoTime();
            long dueNs = pace.fixed() ? slotNs : sentNs;
            try {
                producer.send(records.apply(dueNs), (metadata, failure) -> outcomes.completed(dueNs, sentNs, failure));
            } catch (RuntimeException failure) {
                outcomes.completed(dueNs, sentNs, failure);
            }
            attempted++;
        }
        endedNs = clock.nanoTime();
        cpuNs = THREADS.getCurrentThreadCpuTime() - cpuBeforeNs;
        producer.flush();
    }

    /** End the producer at once: everything is flushed or has failed, so there is nothing left to wait for. */
    @Override
    public void close() {
        producer.close(Duration.ZERO);
    }
}
