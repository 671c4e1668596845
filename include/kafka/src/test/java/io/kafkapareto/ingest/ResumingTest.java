package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.stream.LongStream;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.junit.jupiter.api.Test;

/** Tests that after a failure or an interruption only missing rows are sent again, in order. */
class ResumingTest {
    private static final long ROW_BYTES = 60_000;
    private static final long ROWS = 400;
    private static final int A = 1;
    private static final int B = 2;

    private final PartitionQueue queue = new PartitionQueue();

    @Test
    void afterAnInterruptionExactlyTheMissingRowsAreSent() {
        Random random = new Random(5);
        for (int partitions : new int[] {1, 6, 12}) {
            for (int each = 0; each < 50; each++) {
                List<List<Long>> ofPartition = rowsByPartition(partitions);
                Set<Long> stored = new HashSet<>();
                long[] last = none(partitions);
                for (int partition = 0; partition < partitions; partition++) {  // each holds some of its first rows
                    List<Long> rows = ofPartition.get(partition);
                    List<Long> first = rows.subList(0, random.nextInt(rows.size() + 1));
                    stored.addAll(first);
                    last[partition] = first.isEmpty() ? -1 : first.get(first.size() - 1);
                }

                Partitioning resumed = new Partitioning(last);
                Set<Long> sentAgain = new HashSet<>();
                for (long offset = resumed.allBefore(0); offset < ROWS * ROW_BYTES; offset += ROW_BYTES) {
                    if (!resumed.has(offset, resumed.partitionOf(offset, null))) {
                        sentAgain.add(offset);
                    }
                }

                Set<Long> missing = new HashSet<>();
                ofPartition.forEach(missing::addAll);
                missing.removeAll(stored);
                assertEquals(missing, sentAgain);
            }
        }
    }

    /** Send the file's rows in order to partitions of an empty topic. */
    private static List<List<Long>> rowsByPartition(int partitions) {
        Partitioning fresh = new Partitioning(none(partitions));
        List<List<Long>> found = new ArrayList<>();
        for (int partition = 0; partition < partitions; partition++) {
            found.add(new ArrayList<>());
        }
        for (long row = 0; row < ROWS; row++) {
            found.get(fresh.partitionOf(row * ROW_BYTES, null)).add(row * ROW_BYTES);
        }
        return found;
    }

    @Test
    void anEmptyTopicHasNoRowAndIsReadFromTheFirstOne() {
        Partitioning partitioning = new Partitioning(none(3));

        assertFalse(partitioning.has(0, partitioning.partitionOf(0, null)));
        assertEquals(77, partitioning.allBefore(77));
    }

    @Test
    void afterAFailureAPartitionWaitsForAllAnswersAndBeginsWithTheOldest() {
        List<SentBatch> batches = inFlight(3);

        queue.failed(batches.get(1), 100);
        assertFalse(queue.maySend(batch(9), A));
        assertTrue(queue.takeFailed(200).isEmpty(), "others are still in flight");
        assertTrue(queue.hasOlderThan(batches.get(2)));
        queue.failed(batches.get(2), 150);
        queue.stored(batches.get(0));

        assertTrue(queue.takeFailed(149).isEmpty(), "it is not time yet");
        assertEquals(List.of(batches.get(2), batches.get(1)), queue.takeFailed(150));
        assertTrue(queue.maySend(batch(9), A));
    }

    @Test
    void theFirstBatchOfAPartitionGoesAloneUntilItIsStored() {
        SentBatch first = batch(1);

        assertTrue(queue.maySend(batch(9), A));
        queue.sent(first, A);
        assertFalse(queue.maySend(batch(9), A), "a second one might be stored before the first");
        queue.failed(first, 0);
        assertEquals(List.of(first), queue.takeFailed(0));
        queue.sent(first, A);
        assertFalse(queue.maySend(batch(9), A));
        queue.stored(first);
        queue.sent(batch(2), A);
        assertTrue(queue.maySend(batch(9), A));
    }

    @Test
    void aBatchThatIsRefusedForGoodDoesNotCountAsStored() {
        SentBatch first = batch(1);
        queue.sent(first, A);

        queue.refused(first);
        queue.sent(batch(2), A);

        assertFalse(queue.maySend(batch(9), A));
    }

    @Test
    void batchesGoToAnotherNodeOnlyOnceAllAreAnswered() {
        queue.stored(batch(0));
        SentBatch unanswered = batch(1);
        queue.sent(unanswered, A);

        assertTrue(queue.maySend(batch(9), A));
        assertFalse(queue.maySend(batch(9), B));
        queue.stored(unanswered);
        assertTrue(queue.maySend(batch(9), B));
    }

    @Test
    void batchesInDoubtAreStoredOnceAYoungerOneIs() {
        List<SentBatch> batches = inFlight(4);

        queue.doubted(batches.get(0), 0);
        queue.doubted(batches.get(1), 0);

        assertTrue(queue.maySend(batches.get(2), A));
        assertFalse(queue.maySend(batch(5), A), "it can settle no doubt that those before it leave");
        assertEquals(batches.subList(0, 3), queue.stored(batches.get(2)));
        assertTrue(queue.hasStoredYoungerThan(batches.get(1)));
        assertFalse(queue.hasStoredYoungerThan(batches.get(3)));
    }

    @Test
    void batchesInDoubtAreSentAgainOnceAYoungerOneFails() {
        List<SentBatch> batches = inFlight(2);

        queue.doubted(batches.get(0), 0);
        queue.failed(batches.get(1), 0);

        assertEquals(List.of(batches.get(1), batches.get(0)), queue.takeFailed(0));
    }

    @Test
    void rowsAreLostOnceALeaderHasRefusedAllThreeTimes() {
        queue.stored(batch(0));
        List<SentBatch> batches = List.of(batch(1), batch(2));
        for (int round = 0; round < 3; round++) {
            assertFalse(queue.isLost(), "round " + round);
            batches.forEach(each -> queue.sent(each, A));
            batches.forEach(each -> queue.doubted(each, 0));
            assertEquals(2, queue.takeFailed(0).size());
        }

        assertTrue(queue.isLost());
    }

    private static long[] none(int partitions) {
        long[] last = new long[partitions];
        Arrays.fill(last, -1);
        return last;
    }

    /** Return this many batches, numbered from 1, sent after a stored one. */
    private List<SentBatch> inFlight(int count) {
        queue.stored(batch(0));
        List<SentBatch> batches = LongStream.rangeClosed(1, count).mapToObj(ResumingTest::batch).toList();
        batches.forEach(each -> queue.sent(each, A));
        return batches;
    }

    private static SentBatch batch(long number) {
        return new SentBatch(number, 0, MemoryRecords.EMPTY, ByteBuffer.allocate(0), 1, 1, 0);
    }
}
