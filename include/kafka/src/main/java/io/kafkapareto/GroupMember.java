package io.kafkapareto;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.LongSupplier;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.consumer.Consumer;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.common.TopicPartition;

/** One consumer of a group, in a thread: it waits until the group is complete, then polls and counts. */
final class GroupMember implements ConsumerRebalanceListener {
    /** State shared by all members of a group; {@code pauseNs} follows every poll that returned records. */
    record Shared(
            String topic, GroupStart start, MeasuredTime measured, ReadOffsets offsets, LongAdder recordsRead,
            AtomicBoolean stopped, boolean endsWithOffsets, boolean hasDueTimes, long pauseNs, MonotonicClock clock) {}

    private static final Duration WHILE_JOINING = Duration.ofMillis(10);
    private static final Duration WHILE_READING = Duration.ofMillis(100);

    /** Records read, and the bytes of their keys and values. */
    static final class Tally {
        long records;
        long bytes;

        private void add(long size) {
            records++;
            bytes += size;
        }
    }

    final Tally all = new Tally();
    final Tally measured = new Tally();
    final Histogram fromDue = LatencyStatistics.histogram();
    private final int number;
    private final Consumer<byte[], byte[]> consumer;
    private final Shared shared;
    private final LongSupplier threadCpuNs;
    private double waitedNs;
    private double cpuNs;
    private long cpuBeforeNs;
    private long returnedNs;
    private ObjectNode metrics;

    GroupMember(int number, Consumer<byte[], byte[]> consumer, Shared shared, LongSupplier threadCpuNs) {
        this.number = number;
        this.consumer = consumer;
        this.shared = shared;
        this.threadCpuNs = threadCpuNs;
    }

    /** Join the group and poll until it is stopped; then close its consumer. */
    void run() {
        try (consumer) {
            consumer.subscribe(List.of(shared.topic()), this);
            returnedNs = shared.clock().nanoTime();
            cpuBeforeNs = threadCpuNs.getAsLong();
            while (!shared.stopped().get()) {
                if (shared.measured().isKnown()) {
                    consumer.resume(consumer.paused());
                    poll(WHILE_READING);
                } else {
                    poll(WHILE_JOINING);
                }
            }
            poll(Duration.ZERO); // the client's metrics count a consumed fetch only in the next poll
            metrics = ConsumerMetrics.read(consumer.metrics());
        }
    }

    private void poll(Duration timeout) {
        long calledNs = shared.clock().nanoTime();
        long cpuCalledNs = threadCpuNs.getAsLong();
        ConsumerRecords<byte[], byte[]> polled = consumer.poll(timeout);
        long cpuReturnedNs = threadCpuNs.getAsLong();
        long beforeNs = returnedNs;
        returnedNs = shared.clock().nanoTime();
        for (TopicPartition partition : polled.partitions()) {
            read(partition, polled.records(partition));
        }
        shared.recordsRead().add(polled.count());
        if (shared.endsWithOffsets() && shared.measured().isKnown() && shared.offsets().ahead() <= 0) {
            shared.measured().close(returnedNs);
        }
        long waitedHereNs = returnedNs - calledNs - (cpuReturnedNs - cpuCalledNs);
        waitedNs += Math.max(waitedHereNs, 0) * shared.measured().shareOf(calledNs, returnedNs);
        cpuNs += (cpuReturnedNs - cpuBeforeNs) * shared.measured().shareOf(beforeNs, returnedNs);
        cpuBeforeNs = cpuReturnedNs;
        if (!polled.isEmpty() && shared.pauseNs() > 0) {
            shared.clock().waitUntil(returnedNs + shared.pauseNs());
        }
    }

    private void read(TopicPartition partition, List<ConsumerRecord<byte[], byte[]>> polled) {
        boolean isMeasured = shared.measured().holds(returnedNs);
        shared.offsets().read(partition, polled);
        for (ConsumerRecord<byte[], byte[]> record : polled) {
            long size = (record.key() == null ? 0 : record.key().length)
                    + (record.value() == null ? 0 : record.value().length);
            all.add(size);
            if (isMeasured) {
                measured.add(size);
            }
            if (shared.hasDueTimes()) {
                long dueNs = ByteBuffer.wrap(record.value()).getLong();
                if (shared.measured().holds(dueNs)) {
                    LatencyStatistics.record(fromDue, returnedNs - dueNs);
                }
            }
        }
    }

    /** Start at the given offsets regardless of commits; later assignments start at the committed offsets. */
    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> added) {
        if (!shared.measured().isKnown()) {
            added.forEach(each -> consumer.seek(each, shared.offsets().next(each)));
            consumer.pause(added);
        }
        shared.start().assign(number, added);
    }

    /** Count revoked partitions; those revoked by closing do not count as a rebalance. */
    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> removed) {
        if (!shared.stopped().get()) {
            shared.start().revoke(number, removed);
        }
    }

    /** Return the metrics of the consumer's whole life; null if it failed. */
    ObjectNode metrics() {
        return metrics;
    }

    /** Return the thread's idle time in {@code poll()} during the measurement. */
    double waitedS() {
        return waitedNs / 1e9;
    }

    /** Return the CPU time of the thread while the group was measured. */
    double cpuS() {
        return cpuNs / 1e9;
    }
}
