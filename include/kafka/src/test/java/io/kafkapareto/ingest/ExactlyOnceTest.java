package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.utils.Time;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** For any failure of a partition's leader, each row is stored once and in order; the sink reports lost rows. */
@Timeout(60)
class ExactlyOnceTest {
    private static final int ROWS = 40;

    /** The old leader stores a batch and hangs. A new leader remembers five batches and must not get more. */
    @Test
    void aLeaderHangsAnotherIsElectedAndThenTheFirstOneDies() throws Exception {
        CountDownLatch hangs = new CountDownLatch(1);
        CountDownLatch dead = new CountDownLatch(1);
        CountDownLatch forgotten = new CountDownLatch(6);
        AtomicBoolean refreshes = new AtomicBoolean(true);
        try (ModelCluster cluster = new ModelCluster(3, 2, (node, partition, batch) -> {
            Errors answer = node.take(partition, batch);
            if (node.number() == 0 && partition.number() == 0 && batch.baseSequence() == 2) {
                partition.moveTo(1);
                hangs.countDown();
                dead.await();
                return null;
            } else if (node.number() == 2 && hangs.getCount() == 0 && refreshes.getAndSet(false)) {
                return Errors.NOT_LEADER_OR_FOLLOWER;  // it stored the batch; the client asks for metadata
            } else if (node.number() == 1) {
                forgotten.countDown();
            }
            return answer;
        })) {
            cluster.partition(1).moveTo(2);
            // With one request in flight, the unanswered batch is the last one sent to the old leader.
            try (BatchSink sink = sinkOf(cluster, 1)) {
                send(sink, 0, 0, 3);
                send(sink, 1, 0, 1);
                assertTrue(hangs.await(10, TimeUnit.SECONDS));
                send(sink, 1, 1, 3);
                send(sink, 0, 3, ROWS);
                boolean hasForgotten = forgotten.await(500, TimeUnit.MILLISECONDS);
                cluster.node(0).kill();
                dead.countDown();
                sink.flush();

                assertEquals("", sink.failure());
                assertTrue(!hasForgotten, "batches went to the new leader before the old one had answered");
                assertEquals(rows(0, ROWS), cluster.partition(0).rows());
                assertEquals(rows(0, 3), cluster.partition(1).rows());
                assertEquals(ROWS + 3, sink.acknowledgedRows());
            }
        }
    }

    @Test
    void aBrokerRestartsAfterItStoredBatchesThatItDidNotAnswer() throws Exception {
        AtomicBoolean restarts = new AtomicBoolean(true);
        try (ModelCluster cluster = new ModelCluster(1, 1, (node, partition, batch) -> {
            Errors answer = node.take(partition, batch);
            if (batch.baseSequence() < 2 || !restarts.get()) {
                return answer;
            }
            if (batch.baseSequence() == 4) {
                restarts.set(false);
                node.restart();
            }
            return null;
        })) {
            requireAllStored(cluster);
            assertTrue(cluster.outOfOrder() >= 2, "the restarted broker remembered more than the last batch");
        }
    }

    @Test
    void aBatchThatTimedOutBeforeAYoungerOneWasAcknowledgedIsStored() throws Exception {
        AtomicBoolean timesOut = new AtomicBoolean(true);
        try (ModelCluster cluster = new ModelCluster(1, 1, (node, partition, batch) -> {
            Errors answer = node.take(partition, batch);
            if (batch.baseSequence() == 2 && timesOut.getAndSet(false)) {
                Thread.sleep(100);  // meanwhile the next one is sent
                return Errors.REQUEST_TIMED_OUT;
            } else if (batch.baseSequence() == 3) {
                partition.forget();
            }
            return answer;
        })) {
            requireAllStored(cluster);
            assertEquals(1, cluster.outOfOrder());
        }
    }

    /** Without a leader, the client calls a node ready or not at random; batches must stay in order. */
    @Test
    void batchesKeepTheirOrderWhileALeaderIsLookedFor() throws Exception {
        CountDownLatch missing = new CountDownLatch(ROWS - 1);  // the flush sends the last one
        try (ModelCluster cluster = new ModelCluster(2, 2, (node, partition, batch) -> {
            missing.countDown();
            return node.take(partition, batch);
        })) {
            cluster.partition(1).moveTo(-1);
            try (BatchSink sink = sinkOf(cluster)) {
                send(sink, 1, 0, 1);
                send(sink, 0, 0, ROWS);
                assertTrue(missing.await(10, TimeUnit.SECONDS));
                cluster.partition(1).moveTo(0);
                sink.flush();

                assertEquals(0, cluster.outOfOrder());
                assertEquals("", sink.failure());
                assertEquals(rows(0, ROWS), cluster.partition(0).rows());
            }
        }
    }

    /** A restarted leader knows only the last of its unanswered batches, and the next leader none of them. */
    @Test
    void batchesInDoubtGoToTheNextLeaderIfItHasNoneOfThem() throws Exception {
        AtomicInteger unanswered = new AtomicInteger(3);
        AtomicBoolean moves = new AtomicBoolean(true);
        try (ModelCluster cluster = new ModelCluster(2, 1, (node, partition, batch) -> {
            if (batch.baseSequence() == 3 && unanswered.get() == 0 && moves.getAndSet(false)) {
                partition.lose(3);
                partition.moveTo(1);
            }
            Errors answer = node.take(partition, batch);
            if (batch.baseSequence() < 2 || unanswered.get() == 0) {
                return answer;
            }
            if (unanswered.decrementAndGet() == 0) {
                node.restart();
            }
            return null;
        })) {
            requireAllStored(cluster);
        }
    }

    @Test
    void rowsThatALeaderHasLostAreToldOnceAllOthersAreAcknowledged() throws Exception {
        AtomicBoolean loses = new AtomicBoolean(true);
        try (ModelCluster cluster = new ModelCluster(1, 2, losing(loses)); BatchSink sink = sinkOf(cluster)) {
            send(sink, 0, 0, 10);
            send(sink, 1, 0, ROWS);
            sink.flush();

            assertEquals(
                    "OutOfOrderSequenceException: the leader of partition 0 of topic rows has lost rows that were "
                            + "acknowledged", sink.failure());
            assertTrue(sink.hasLostRows());
            assertEquals(rows(0, ROWS), cluster.partition(1).rows());
        }
    }

    /** Return the behavior of a leader that loses the last two batches of partition 0 before it gets the sixth. */
    private static ModelCluster.Script losing(AtomicBoolean loses) {
        return (node, partition, batch) -> {
            if (partition.number() == 0 && batch.baseSequence() >= 5 && loses.getAndSet(false)) {
                partition.lose(2);
            }
            return node.take(partition, batch);
        };
    }

    /** Nodes answer late or not at all, restart, and lose leadership, at any time. */
    @ParameterizedTest
    @ValueSource(ints = {1, 2, 3, 4, 5, 6, 7, 8})
    void anyTroubleIsSurvived(int seed) throws Exception {
        Random random = new Random(seed);
        try (ModelCluster cluster = new ModelCluster(2, 2, (node, partition, batch) -> {
            Errors answer = node.take(partition, batch);
            synchronized (random) {
                int trouble = random.nextInt(12);
                if (trouble == 0) {
                    node.restart();
                } else if (trouble == 3) {
                    partition.moveTo(1 - node.number());
                }
                return switch (trouble) {
                    case 0, 1 -> null;
                    case 2 -> answer == Errors.NONE ? Errors.NOT_ENOUGH_REPLICAS_AFTER_APPEND : answer;
                    default -> answer;
                };
            }
        }); BatchSink sink = sinkOf(cluster)) {
            for (int row = 0; row < ROWS; row++) {
                send(sink, 0, row, row + 1);
                send(sink, 1, row, row + 1);
            }
            sink.flush();

            assertEquals("", sink.failure());
            assertEquals(rows(0, ROWS), cluster.partition(0).rows());
            assertEquals(rows(0, ROWS), cluster.partition(1).rows());
        }
    }

    /** By the wall clock, a batch due to be sent again has waited for a day. */
    @ParameterizedTest
    @ValueSource(longs = {24, -24})
    void aClockThatIsSetEndsNoDelivery(long hours) throws Exception {
        AtomicLong setByMs = new AtomicLong();
        try (ModelCluster cluster = new ModelCluster(1, 1, (node, partition, batch) -> {
            boolean isFirst = batch.baseSequence() == 2 && setByMs.getAndSet(TimeUnit.HOURS.toMillis(hours)) == 0;
            return isFirst ? Errors.REQUEST_TIMED_OUT : node.take(partition, batch);
        }); BatchSink sink = new BatchSink(propertiesOf(cluster, 1), cluster.topic(), false, new SetTime(setByMs::get))) {
            requireAllStored(cluster, sink);
        }
    }

    /** The time of a machine whose wall clock is adjusted during the test. */
    private record SetTime(LongSupplier setByMs) implements Time {
        @Override
        public long milliseconds() {
            return SYSTEM.milliseconds() + setByMs.getAsLong();
        }

        @Override
        public long nanoseconds() {
            return SYSTEM.nanoseconds();
        }

        @Override
        public void sleep(long ms) {
            SYSTEM.sleep(ms);
        }

        @Override
        public void waitObject(Object lock, Supplier<Boolean> condition, long deadlineMs) throws InterruptedException {
            SYSTEM.waitObject(lock, condition, deadlineMs - setByMs.getAsLong());
        }
    }

    private static void requireAllStored(ModelCluster cluster) throws Exception {
        try (BatchSink sink = sinkOf(cluster)) {
            requireAllStored(cluster, sink);
        }
    }

    private static void requireAllStored(ModelCluster cluster, BatchSink sink) {
        send(sink, 0, 0, ROWS);
        sink.flush();

        assertEquals("", sink.failure());
        assertEquals(rows(0, ROWS), cluster.partition(0).rows());
        assertEquals(ROWS, sink.acknowledgedRows());
    }

    private static BatchSink sinkOf(ModelCluster cluster) throws IOException {
        return sinkOf(cluster, 5);
    }

    private static BatchSink sinkOf(ModelCluster cluster, int maxInFlight) throws IOException {
        return new BatchSink(propertiesOf(cluster, maxInFlight), cluster.topic(), false);
    }

    /** Return properties of a sink whose batches hold one row each. */
    private static Properties propertiesOf(ModelCluster cluster, int maxInFlight) {
        Properties properties = cluster.properties();
        properties.setProperty("batch.size", "80");
        properties.setProperty("max.in.flight.requests.per.connection", Integer.toString(maxInFlight));
        return properties;
    }

    private static void send(BatchSink sink, int partition, int from, int to) {
        for (String row : rows(from, to)) {
            byte[] bytes = row.getBytes(StandardCharsets.UTF_8);
            sink.send(bytes, 0, bytes.length, null, null, partition);
        }
    }

    private static List<String> rows(int from, int to) {
        return IntStream.range(from, to).mapToObj(Integer::toString).toList();
    }
}
