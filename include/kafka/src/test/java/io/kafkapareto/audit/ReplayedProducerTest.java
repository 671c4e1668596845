package io.kafkapareto.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.IntStream;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.requests.MetadataResponse.PartitionMetadata;
import org.junit.jupiter.api.Test;

class ReplayedProducerTest {
    private static final int KAFKAS_BATCH_SIZE = 16384;
    private static final byte[] KEY = {1};

    @Test
    void aBatchLeavesWhenItsFirstRecordHasWaitedForTheLinger() throws Exception {
        assertEquals(List.of(6, 6, 3), counts(send(everyMs(15, 0), 5, KAFKAS_BATCH_SIZE, 1)));
        assertEquals(List.of(15), counts(send(everyMs(15, 0), 1000, KAFKAS_BATCH_SIZE, 1)));
        assertEquals(15, send(everyMs(15, 0), 0, KAFKAS_BATCH_SIZE, 1).batches().size());
    }

    @Test
    void aFullBatchLeavesAtOnce() throws Exception {
        List<Integer> counts = counts(send(everyMs(30, 0), 1000, 1024, 1));

        assertTrue(counts.get(0) > 5 && counts.get(0) < 11, counts.toString()); // of about 110 bytes each
        assertEquals(30, counts.stream().mapToInt(Integer::intValue).sum());
    }

    @Test
    void partitionsOfOneBrokerLeaveTogether() throws Exception {
        List<ReplayedProducer.Arrival> records = new ArrayList<>(everyMs(1, 0));
        records.addAll(IntStream.range(0, 3).mapToObj(each -> arrival(3 + each, 1)).toList());

        ReplayedProducer.Outcome outcome = send(records, 5, KAFKAS_BATCH_SIZE, 2);

        assertEquals(1, outcome.requests()); // the second partition's records have waited for 0 to 2 ms
        assertEquals(List.of(1, 3), counts(outcome).stream().sorted().toList());
    }

    @Test
    void recordsWithoutAKeyStayInAPartitionUntilABatchIsFull() throws Exception {
        var outcome = send(everyMs(100, ReplayedProducer.ANY_PARTITION), 10, KAFKAS_BATCH_SIZE, 6);

        assertEquals(10, outcome.batches().size(), 1);
    }

    private static ReplayedProducer.Outcome send(
            List<ReplayedProducer.Arrival> records, int lingerMs, int batchSize, int partitions) throws Exception {
        var settings = new ReplayedProducer.Settings(batchSize, lingerMs, Compression.NONE);
        return ReplayedProducer.send("test", leaders(partitions), records, settings);
    }

    private static List<Integer> counts(ReplayedProducer.Outcome outcome) {
        return outcome.batches().stream().map(ReplayedProducer.SentBatch::records).toList();
    }

    private static List<ReplayedProducer.Arrival> everyMs(int records, int partition) {
        return IntStream.range(0, records).mapToObj(each -> arrival(each, partition)).toList();
    }

    private static ReplayedProducer.Arrival arrival(int ms, int partition) {
        byte[] key = partition == ReplayedProducer.ANY_PARTITION ? null : KEY;
        return new ReplayedProducer.Arrival(1000L * ms, partition, new StoredBatch.Sent(ms, key, new byte[100], new Header[0]));
    }

    private static MetadataSnapshot leaders(int partitions) {
        Node node = new Node(1, "broker", 9092);
        List<PartitionMetadata> found = IntStream.range(0, partitions).mapToObj(each -> new PartitionMetadata(Errors.NONE,
                new TopicPartition("test", each), Optional.of(1), Optional.of(0), List.of(1), List.of(1), List.of())).toList();
        return new MetadataSnapshot("test", Map.of(1, node), found, Set.of(), Set.of(), Set.of(), null,
                Map.of("test", Uuid.randomUuid()));
    }
}
