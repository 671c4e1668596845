package io.kafkapareto;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.LongFunction;
import org.apache.kafka.clients.producer.ProducerRecord;

/** One producer of a part, in a thread that sends its records. */
final class Sender implements AutoCloseable {
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    final LatencyStatistics outcomes;
    private final LoadClient client;
    private final LongFunction<ProducerRecord<byte[], byte[]>> records;
    private final Pace pace;
    private final MonotonicClock clock;
    /** A permit for each answer, if the sender waits for them one by one; else null. */
    private final Semaphore answers;
    private long attempted;
    private long beganNs;
    private long endedNs;
    private long cpuNs;
    private long waitedNs;

    /**
     * Take the next record from {@code records}, given the time at which it is due. A failure of any sender that shares
     * {@code failed} ends the sending of all. If {@code synchronous}, wait for each answer before the next record.
     */
    Sender(
            LoadClient client, LongFunction<ProducerRecord<byte[], byte[]>> records, Pace pace,
            MonotonicClock clock, AtomicBoolean failed, boolean synchronous) {
        this.client = client;
        this.records = records;
        this.pace = pace;
        this.clock = clock;
        answers = synchronous ? new Semaphore(0) : null;
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

    /** Return when the last call began to send, at or after its start time. */
    long beganNs() {
        return beganNs;
    }

    /** Return the end of the last sending, before the flush. */
    long endedNs() {
        return endedNs;
    }

    /** Return the sending thread's CPU time in the last call. */
    long cpuNs() {
        return cpuNs;
    }

    /** Return the time in the last call that this thread waited for answers, one by one. */
    long waitedNs() {
        return waitedNs;
    }

    /** Exclude everything so far from {@link #metrics}. */
    void endWarmup() {
        client.endWarmup();
    }

    ClientMetrics.OfProducer metrics() {
        return client.metrics();
    }

    /** Send from {@code startedNs} until the records or the time run out, or a record fails; then flush. */
    void send(long startedNs, double seconds) {
        long cpuBeforeNs = THREADS.getCurrentThreadCpuTime();
        Pace slots = pace.scaledTo(seconds);
        attempted = 0;
        waitedNs = 0;
        clock.waitUntil(startedNs);
        beganNs = clock.nanoTime();
        while (attempted < pace.records(seconds)
                && clock.nanoTime() - startedNs < pace.longestNs(seconds)
                && !outcomes.failed()) {
            long slotNs = startedNs + slots.offsetNs(attempted);
            clock.waitUntil(slotNs);
            long sentNs = clock.nanoTime();
            long dueNs = pace.fixed() ? slotNs : sentNs;
            try {
                send(records.apply(dueNs), dueNs, sentNs);
            } catch (RuntimeException failure) {
                outcomes.completed(dueNs, sentNs, failure);
            }
            attempted++;
        }
        endedNs = clock.nanoTime();
        cpuNs = THREADS.getCurrentThreadCpuTime() - cpuBeforeNs;
        client.flush();
    }

    private void send(ProducerRecord<byte[], byte[]> record, long dueNs, long sentNs) {
        if (answers == null) {
            client.send(record, failure -> outcomes.completed(dueNs, sentNs, failure));
            return;
        }
        client.send(record, failure -> {
            try {
                outcomes.completed(dueNs, sentNs, failure);
            } finally {
                answers.release();
            }
        });
        long sentAllNs = clock.nanoTime();
        try {
            answers.acquire(); // a record that is not answered fails at its timeout
        } catch (InterruptedException interruption) {
            throw new IllegalStateException("interrupted while waiting for an answer", interruption);
        }
        waitedNs += clock.nanoTime() - sentAllNs;
    }

    /** Close the client immediately: all records are flushed or have failed. */
    @Override
    public void close() {
        client.close();
    }
}
