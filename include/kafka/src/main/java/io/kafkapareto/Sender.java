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

    /** Return the number of records due; without due times, the number tried. */
    long planned(double seconds) {
        return pace.fixed() ? pace.records(seconds) : attempted;
    }

    /** Return the number of records tried by the last call. */
    long attempted() {
        return attempted;
    }

    /** Return the end of the last sending, before the flush. */
    long endedNs() {
        return endedNs;
    }

    /** Return the sending thread's CPU time in the last call. */
    long cpuNs() {
        return cpuNs;
    }

    /** Record the totals of the warm-up, which {@link #metrics} later excludes. */
    void endWarmup() {
        warmupMetrics = ClientMetrics.read(producer.metrics());
    }

    ClientMetrics.OfProducer metrics() {
        return new ClientMetrics.OfProducer(
                ClientMetrics.withTotalsSince(warmupMetrics, ClientMetrics.read(producer.metrics())),
                ClientMetrics.recordsSent(producer.metrics()));
    }

    /** Send from {@code startedNs} until the records or the time run out, or a record fails; then flush. */
    void send(long startedNs, double seconds) {
        long cpuBeforeNs = THREADS.getCurrentThreadCpuTime();
        Pace slots = pace.scaledTo(seconds);
        attempted = 0;
        while (attempted < pace.records(seconds)
                && clock.nanoTime() - startedNs < pace.longestNs(seconds)
                && !outcomes.failed()) {
            long slotNs = startedNs + slots.offsetNs(attempted);
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

    /** Close the producer immediately: all records are flushed or have failed. */
    @Override
    public void close() {
        producer.close(Duration.ZERO);
    }
}
