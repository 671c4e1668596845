package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import java.util.stream.IntStream;
import org.apache.kafka.common.protocol.Errors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that an ingestion resends acknowledged rows that a leader lost: all are stored once, in order. */
@Timeout(60)
class ResumedInstanceTest {
    private static final int ROWS = 2_000;
    private static final int PARTITIONS = 3;
    private static final String FILLING = "," + "x".repeat(500) + "\n";

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void rowsThatALeaderHasLostAreSentAgain(boolean areKeyed) throws Exception {
        int[] batches = new int[PARTITIONS];
        try (ModelCluster cluster = new ModelCluster(1, PARTITIONS, (node, partition, batch) -> {
            if (partition.number() == 1 && batches[1]++ == 20) {
                partition.lose(4);
            }
            return node.take(partition, batch);
        })) {
            Sent sent = send(cluster, areKeyed);

            assertEquals(1, sent.instance().resumptions());
            requireWhole(cluster, sent);
        }
    }

    @Test
    void aTopicThatLosesRowsAgainAndAgainEndsTheIngestion() throws Exception {
        int[] lostInEpoch = {-1};
        try (ModelCluster cluster = new ModelCluster(1, PARTITIONS, (node, partition, batch) -> {
            if (batch.baseSequence() > 40 && batch.producerEpoch() > lostInEpoch[0]) {
                lostInEpoch[0] = batch.producerEpoch();
                partition.lose(2);
            }
            return node.take(partition, batch);
        })) {
            Sent sent = send(cluster, false);

            assertEquals(10, sent.instance().resumptions());
            assertTrue(sent.instance().sink().failure().contains("has lost rows that were acknowledged"));
        }
    }

    /** Leaders lose rows, answer late or not at all, restart, and lose leadership, at any time. */
    @ParameterizedTest
    @CsvSource({"1, false", "2, false", "3, false", "4, false", "1, true", "2, true", "3, true", "4, true"})
    void anyTroubleAndLossIsSurvived(int seed, boolean areKeyed) throws Exception {
        Random random = new Random(seed);
        int[] losses = {3};
        try (ModelCluster cluster = new ModelCluster(2, PARTITIONS, (node, partition, batch) -> {
            synchronized (random) {
                if (batch.baseSequence() > 0 && random.nextInt(40) == 0 && losses[0]-- > 0) {
                    partition.lose(1 + random.nextInt(6));
                }
                Errors answer = node.take(partition, batch);
                int trouble = random.nextInt(24);
                if (trouble == 0) {
                    node.restart();
                } else if (trouble == 2) {
                    partition.moveTo(1 - node.number());
                }
                return trouble < 2 ? null : answer;
            }
        })) {
            Sent sent = send(cluster, areKeyed);

            requireWhole(cluster, sent);
        }
    }

    /** The instance that sent a file, and each partition's expected row numbers. */
    private record Sent(Instance instance, ReadCounts counts, List<List<String>> rows) {}

    private Sent send(ModelCluster cluster, boolean areKeyed) throws Exception {
        List<List<String>> rows = new ArrayList<>();
        IntStream.range(0, PARTITIONS).forEach(each -> rows.add(new ArrayList<>()));
        StringBuilder text = new StringBuilder("row,filling\n");
        Partitioning empty = new Partitioning(lastRows(cluster));
        for (int row = 0; row < ROWS; row++) {
            byte[] key = areKeyed ? Integer.toString(row).getBytes(StandardCharsets.US_ASCII) : null;
            rows.get(empty.partitionOf(text.length(), key)).add(Integer.toString(row));
            text.append(row).append(FILLING);
        }
        Path path = Files.write(folder.resolve("rows.csv"), text.toString().getBytes(StandardCharsets.US_ASCII));
        CsvFile file = CsvFile.open(path, (byte) ',', "bytes", IngestionOptions.MOST_ROW_BYTES);
        ReadCounts counts = new ReadCounts();
        Properties properties = cluster.properties();
        properties.setProperty("batch.size", "8192");
        try (BatchSink sink = new BatchSink(properties, cluster.topic(), areKeyed);
                MalformedRows malformed = new MalformedRows("none", new Properties(), 0, true, -1, 1 << 20)) {
            Job job = new Job(
                    file, RowReader.MAPPED, Senders.of("sequential"), empty, areKeyed ? new int[] {0} : new int[0],
                    () -> lastRows(cluster), malformed, counts);
            Instance instance = new Instance(job, file.rows(), sink, new ByteLimit(0));
            instance.run();
            return new Sent(instance, counts, rows);
        }
    }

    private static void requireWhole(ModelCluster cluster, Sent sent) {
        RowSink sink = sent.instance().sink();
        assertEquals("", sink.failure());
        assertEquals(sent.rows(), IntStream.range(0, PARTITIONS).mapToObj(each -> numbers(cluster, each)).toList());
        assertEquals(sent.counts().rows().sum(), sink.acknowledgedRows(), "each row that was read is acknowledged");
    }

    private static List<String> numbers(ModelCluster cluster, int partition) {
        return cluster.partition(partition).rows().stream().map(each -> each.substring(0, each.indexOf(','))).toList();
    }

    private static long[] lastRows(ModelCluster cluster) {
        return IntStream.range(0, PARTITIONS).mapToLong(each -> cluster.partition(each).lastRow()).toArray();
    }
}
