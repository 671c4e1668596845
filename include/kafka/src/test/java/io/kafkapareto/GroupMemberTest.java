package io.kafkapareto;

import static io.kafkapareto.SimulatedClock.MS;
import static io.kafkapareto.SimulatedClock.S;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.MockConsumer;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

/** Tests one member in simulated time, on Kafka's MockConsumer; the test sets each poll's action and duration. */
class GroupMemberTest {
    private static final TopicPartition PARTITION = new TopicPartition("load", 0);
    private static final long BEGIN = 100;

    private final SimulatedClock clock = new SimulatedClock();
    private final GroupStart start = new GroupStart(clock, 1, 1);
    private final MeasuredTime measured = new MeasuredTime();
    private final ReadOffsets offsets = new ReadOffsets(Map.of(PARTITION, BEGIN), Map.of(PARTITION, BEGIN + 5));
    private final LongAdder recordsRead = new LongAdder();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final Queue<Runnable> polls =
            new ArrayDeque<>(List.<Runnable>of(() -> this.consumer.rebalance(List.of(PARTITION))));
    private long cpuNs;

    private final MockConsumer<byte[], byte[]> consumer = new MockConsumer<>("earliest") {
        @Override
        public synchronized ConsumerRecords<byte[], byte[]> poll(Duration timeout) {
            if (timeout.isZero()) {
                return super.poll(timeout);
            }
            polls.remove().run();
            return super.poll(timeout);
        }
    };

    /** Run a member that joins first, and stop it after the added polls. */
    private GroupMember run(boolean endsWithOffsets, boolean hasDueTimes, long pauseNs) {
        var shared = new GroupMember.Shared(
                "load", start, measured, offsets, recordsRead, stopped, endsWithOffsets, hasDueTimes, pauseNs, clock);
        GroupMember member = new GroupMember(0, consumer, shared, () -> cpuNs);
        polls.add(() -> stopped.set(true));
        consumer.updateBeginningOffsets(Map.of(PARTITION, 0L));
        member.run();
        return member;
    }

    /** Add a poll with this duration and CPU time; it returns 8-byte records of this age. */
    private void poll(long tookNs, long ofItCpuNs, long firstOffset, int records, long sinceDueNs) {
        polls.add(() -> {
            clock.advance(tookNs);
            cpuNs += ofItCpuNs;
            for (long offset = firstOffset; offset < firstOffset + records; offset++) {
                byte[] value = ByteBuffer.allocate(8).putLong(clock.nanoTime() - sinceDueNs).array();
                consumer.addRecord(new ConsumerRecord<>("load", 0, offset, new byte[2], value));
            }
        });
    }

    @Test
    void nobodyReadsBeforeTheTimeIsKnownAndThenFromWhereTheGroupIsToldTo() {
        poll(MS, 0, BEGIN, 5, 0);
        polls.add(() -> {
            assertEquals(List.of(PARTITION), List.copyOf(consumer.paused()));
            assertEquals(0, recordsRead.sum());
            measured.open(clock.nanoTime(), Long.MAX_VALUE);
        });
        poll(MS, 0, BEGIN + 5, 0, 0);
        GroupMember member = run(true, false, 0);

        assertTrue(start.isComplete());
        assertEquals(5, member.all.records);
        assertEquals(5 * (2 + 8), member.all.bytes);
        assertEquals(5, recordsRead.sum());
        assertEquals(0, offsets.ahead());
        assertEquals(0, start.changesSince()); // partitions revoked by closing are not a rebalance
        assertTrue(consumer.closed());
    }

    @Test
    void whoReachesTheEndOffsetsEndsTheMeasuredTime() {
        polls.add(() -> measured.open(clock.nanoTime(), Long.MAX_VALUE));
        poll(20 * MS, 0, BEGIN, 2, 0);
        poll(30 * MS, 0, BEGIN + 2, 3, 0);
        poll(100 * MS, 0, BEGIN + 5, 0, 0);
        run(true, false, 0);

        assertEquals(50 * MS, measured.lengthNs());
    }

    @Test
    void theWarmUpIsReadAndNotMeasured() {
        polls.add(() -> measured.open(clock.nanoTime() + 50 * MS, Long.MAX_VALUE));
        poll(40 * MS, 0, BEGIN, 2, 0);
        poll(20 * MS, 0, BEGIN + 2, 3, 0);
        GroupMember member = run(true, false, 0);

        assertEquals(5, member.all.records);
        assertEquals(3, member.measured.records);
        assertEquals(3 * 10, member.measured.bytes);
        assertEquals(10 * MS, measured.lengthNs());
    }

    @Test
    void waitingIsTheTimeInPollLessTheCpuTimeThereAndWorkBetweenPollsIsNone() {
        polls.add(() -> measured.open(clock.nanoTime(), clock.nanoTime() + S));
        poll(100 * MS, 30 * MS, BEGIN, 1, 0);
        poll(100 * MS, 100 * MS, BEGIN + 1, 1, 0);
        GroupMember member = run(false, false, 50 * MS);

        assertEquals(0.07, member.waitedS(), 1e-9);
        assertEquals(0.13, member.cpuS(), 1e-9);
    }

    @Test
    void latencyCountsFromTheDueTimeToTheReturnOfPollForWhatWasDueInTheMeasuredTime() {
        polls.add(() -> measured.open(clock.nanoTime() + 100 * MS, clock.nanoTime() + S));
        poll(90 * MS, 0, BEGIN, 1, 20 * MS);
        poll(60 * MS, 0, BEGIN + 1, 1, 60 * MS);
        poll(50 * MS, 0, BEGIN + 2, 2, 40 * MS);
        GroupMember member = run(false, true, 0);

        assertEquals(2, member.fromDue.getTotalCount());
        assertEquals(40_000, member.fromDue.getMaxValue(), 40);
    }

    @Test
    void aConsumerPausesAfterEachPollThatBroughtSomething() {
        polls.add(() -> measured.open(clock.nanoTime(), Long.MAX_VALUE));
        poll(0, 0, BEGIN, 1, 0);
        poll(0, 0, BEGIN + 1, 0, 0);
        poll(0, 0, BEGIN + 1, 1, 0);
        long beganNs = clock.nanoTime();
        run(false, false, 10 * MS);

        assertEquals(20 * MS, clock.nanoTime() - beganNs);
    }

    @Test
    void aConsumerThatFailsIsClosedAndSaysWhy() {
        polls.add(() -> {
            throw new IllegalStateException("refused");
        });

        assertThrows(IllegalStateException.class, () -> run(true, false, 0));
        assertTrue(consumer.closed());
    }
}
