package io.kafkapareto.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.junit.jupiter.api.Test;

class ReplayedLibrdkafkaTest {
    private static final int BATCH_SIZE = 1_000_000;
    private static final byte[] KEY = {1};

    @Test
    void aBatchLeavesWhenItsFirstRecordHasWaitedForTheLinger() {
        assertEquals(List.of(6, 6, 3), counts(send(everyMs(15, 0), 5, BATCH_SIZE)));
        assertEquals(List.of(15), counts(send(everyMs(15, 0), 1000, BATCH_SIZE)));
        assertEquals(15, send(everyMs(15, 0), 0, BATCH_SIZE).batches().size());
    }

    @Test
    void aFullBatchLeavesAtOnce() {
        assertEquals(List.of(9, 9, 9, 3), counts(send(everyMs(30, 0), 1000, 1000)));  // of 101 bytes each
        assertEquals(List.of(10_000, 5_000), counts(send(all(15_000), 1000, 1 << 30)));
    }

    @Test
    void partitionsLeaveByThemselvesEachInARequestOfItsOwn() {
        List<ReplayedProducer.Arrival> records = new ArrayList<>(everyMs(1, 0));
        records.addAll(IntStream.range(0, 5).mapToObj(each -> arrival(3 + each, 1)).toList());

        ReplayedProducer.Outcome outcome = send(records, 5, BATCH_SIZE);

        assertEquals(2, outcome.requests());
        assertEquals(List.of(1, 5), counts(outcome));
    }

    @Test
    void recordsWithoutAKeyChangeTheirPartitionAfterTwiceTheLinger() {
        List<Integer> counts = counts(send(everyMs(6000, ReplayedProducer.ANY_PARTITION), 10, BATCH_SIZE));

        assertTrue(counts.size() > 540 && counts.size() < 620, counts.size() + " batches");
    }

    @Test
    void whatDoesNotShrinkIsSentUncompressed() {
        var settings = new ReplayedProducer.Settings(BATCH_SIZE, 5, Compression.gzip().build());
        var records = List.of(new ReplayedProducer.Arrival(0, 0, new StoredBatch.Sent(0, null, new byte[] {7}, new Header[0])));

        assertEquals(send(records, 5, BATCH_SIZE).batches(), ReplayedLibrdkafka.send(1, records, settings).batches());
    }

    private static ReplayedProducer.Outcome send(List<ReplayedProducer.Arrival> records, int lingerMs, int batchSize) {
        return ReplayedLibrdkafka.send(6, records, new ReplayedProducer.Settings(batchSize, lingerMs, Compression.NONE));
    }

    private static List<Integer> counts(ReplayedProducer.Outcome outcome) {
        return outcome.batches().stream().map(ReplayedProducer.SentBatch::records).toList();
    }

    private static List<ReplayedProducer.Arrival> everyMs(int records, int partition) {
        return IntStream.range(0, records).mapToObj(each -> arrival(each, partition)).toList();
    }

    private static List<ReplayedProducer.Arrival> all(int records) {
        return IntStream.range(0, records).mapToObj(each -> arrival(0, 0)).toList();
    }

    private static ReplayedProducer.Arrival arrival(int ms, int partition) {
        byte[] key = partition == ReplayedProducer.ANY_PARTITION ? null : KEY;
        return new ReplayedProducer.Arrival(1000L * ms, partition, new StoredBatch.Sent(ms, key, new byte[100], new Header[0]));
    }
}
