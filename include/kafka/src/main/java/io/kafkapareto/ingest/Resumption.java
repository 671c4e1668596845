package io.kafkapareto.ingest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/** Read the file offset of each partition's last row, the progress of an interrupted ingestion. */
final class Resumption {
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long TIMEOUT_NS = 60_000_000_000L;

    private Resumption() {}

    /**
     * Return the file offset of each partition's last row; -1 for a partition without records from its offset in
     * {@code from} on.
     *
     * @param areKeyed whether the offset is in the header {@link RowSink#ROW_OFFSET}, because the key is the user's
     * @throws Refused if the topic does not exist, if records were removed from it, so rows would be sent again, or if
     *     a partition's last record has no such offset
     * @throws IOException if a record cannot be read in time
     */
    static long[] lastRows(Properties client, String topic, long[] from, boolean areKeyed) throws IOException {
        Properties properties = (Properties) client.clone();
        properties.put("isolation.level", "read_uncommitted");
        properties.put("max.poll.records", "1");
        var bytes = new ByteArrayDeserializer();
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(each -> new TopicPartition(topic, each.partition())).toList();
            if (partitions.isEmpty()) {
                throw new Refused("topic " + topic + ": does not exist; create it first");
            }
            long[] found = new long[partitions.size()];
            Arrays.fill(found, -1);
            Map<TopicPartition, Long> begins = consumer.beginningOffsets(partitions);
            for (Map.Entry<TopicPartition, Long> end : consumer.endOffsets(partitions).entrySet()) {
                long first = offsetOf(from, end.getKey());
                requireWhole(end.getKey(), begins.get(end.getKey()), first);
                if (end.getValue() > first) {
                    found[end.getKey().partition()] =
                            rowOffsetOf(lastRecord(consumer, end.getKey(), end.getValue() - 1), areKeyed);
                }
            }
            return found;
        }
    }

    /** Return a partition's offset from which on its records belong to the ingestion. */
    static long offsetOf(long[] from, TopicPartition partition) {
        return partition.partition() < from.length ? from[partition.partition()] : 0;
    }

    private static void requireWhole(TopicPartition partition, long begin, long first) throws Refused {
        if (begin > first) {
            throw new Refused("topic " + partition.topic() + ": the first " + (begin - first) + " records of partition "
                    + partition.partition() + " were removed by retention or deletion, so the topic cannot hold "
                    + "the whole file; use another topic with a retention longer than the ingestion");
        }
    }

    private static ConsumerRecord<byte[], byte[]> lastRecord(
            KafkaConsumer<byte[], byte[]> consumer, TopicPartition partition, long offset) throws IOException {
        consumer.assign(List.of(partition));
        consumer.seek(partition, offset);
        long beganNs = System.nanoTime();
        while (System.nanoTime() - beganNs < TIMEOUT_NS) {
            for (ConsumerRecord<byte[], byte[]> each : consumer.poll(POLL)) {
                return each;
            }
        }
        throw new IOException("the last record of " + partition + " could not be read within a minute");
    }

    private static long rowOffsetOf(ConsumerRecord<byte[], byte[]> read, boolean isKeyed) throws Refused {
        Header header = read.headers().lastHeader(RowSink.ROW_OFFSET);
        byte[] found = !isKeyed ? read.key() : header == null ? null : header.value();
        if (found == null || found.length != Long.BYTES) {
            throw new Refused(read.topic() + ": partition " + read.partition()
                    + " ends with a record from another source; use an empty topic");
        }
        return ByteBuffer.wrap(found).getLong();
    }
}
