package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.junit.jupiter.api.Test;

/** What is sent again after a failure or an interruption: all that is missing, in order, and nothing else. */
class ResumingTest {
    @Test
    void afterAnInterruptionExactlyTheMissingRowsAreSent() {
        Random random = new Random(5);
        for (int partitions : new int[] {1, 6, 12}) {
            Partitioning fresh = new Partitioning(none(partitions));
            long[] last = none(partitions);
            long rowBytes = 60_000;
            long rows = 400;
            for (long row = 0; row < rows; row++) {  // each partition has stored a first part of its own rows
                int partition = fresh.partitionOf(row * rowBytes);
                if (random.nextInt(100) < 90 && (last[partition] >= 0 || row < 100)) {
                    last[partition] = row < rows * (partition + 1) / (partitions + 1) ? row * rowBytes : last[partition];
                }
            }
            Partitioning resumed = new Partitioning(last);
            long from = resumed.allBefore(0);
            for (long row = 0; row < rows; row++) {
                long offset = row * rowBytes;
                boolean stored = offset <= last[fresh.partitionOf(offset)];
                assertEquals(stored, resumed.has(offset));
                assertTrue(stored || offset >= from, "a missing row would not be read again");
            }
        }
    }

    @Test
    void anEmptyTopicHasNoRowAndIsReadFromTheFirstOne() {
        Partitioning partitioning = new Partitioning(none(3));

        assertFalse(partitioning.has(0));
        assertEquals(77, partitioning.allBefore(77));
    }

    @Test
    void afterAFailureAPartitionWaitsForAllAnswersAndBeginsWithTheOldest() {
        PartitionQueue queue = new PartitionQueue();
        queue.stored(batch(0));
        List<SentBatch> batches = List.of(batch(1), batch(2), batch(3));
        batches.forEach(queue::sent);

        queue.failed(batches.get(1), 100);
        assertFalse(queue.maySend());
        assertTrue(queue.takeFailed(200).isEmpty(), "others are still in flight");
        assertTrue(queue.hasOlderThan(batches.get(2)));
        queue.failed(batches.get(2), 150);
        queue.stored(batches.get(0));

        assertTrue(queue.takeFailed(149).isEmpty(), "it is not time yet");
        assertEquals(List.of(batches.get(2), batches.get(1)), queue.takeFailed(150));
        assertTrue(queue.maySend());
    }

    @Test
    void theFirstBatchOfAPartitionGoesAloneUntilItIsStored() {
        PartitionQueue queue = new PartitionQueue();
        SentBatch first = batch(1);

        assertTrue(queue.maySend());
        queue.sent(first);
        assertFalse(queue.maySend(), "a second one might be stored before the first");
        queue.failed(first, 0);
        assertEquals(List.of(first), queue.takeFailed(0));
        queue.sent(first);
        assertFalse(queue.maySend());
        queue.stored(first);
        queue.sent(batch(2));
        assertTrue(queue.maySend());
    }

    @Test
    void aBatchThatIsRefusedForGoodDoesNotCountAsStored() {
        PartitionQueue queue = new PartitionQueue();
        SentBatch first = batch(1);
        queue.sent(first);

        queue.refused(first);
        queue.sent(batch(2));

        assertFalse(queue.maySend());
    }

    private static long[] none(int partitions) {
        long[] last = new long[partitions];
        Arrays.fill(last, -1);
        return last;
    }

    private static SentBatch batch(long number) {
        return new SentBatch(number, 0, MemoryRecords.EMPTY, ByteBuffer.allocate(0), 1, 1, 0);
    }
}
