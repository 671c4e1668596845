package io.kafkapareto.audit;

import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.ListOffsetsResult.ListOffsetsResultInfo;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.LeaderNotAvailableException;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;

/**
 * The batches at a topic's end, or before an earlier time: of all partitions, in one common period.
 *
 * <p>A producer's batches of different partitions leave together, so only a common period shows what a producer did.
 *
 * @param batches in order of their first record's timestamp
 * @param isCut whether reading stopped before the end, at the limit of bytes or seconds
 */
record TopicSample(List<StoredBatch> batches, long readBytes, boolean isCut) {
    private static final int MIN_FETCH_BYTES = 16 << 10;
    private static final int MAX_FETCH_BYTES = 1 << 20;
    private static final int TIMEOUT_MS = 30_000;
    private static final long LOOK_BACK_FACTOR = 4;
    private static final double MAX_OVERSHOOT = 1.2;
    private static final double FITTING = 0.7;
    private static final int MAX_EMPTY_ANSWERS = 3;
    /** The time of a sample at the topic's end. */
    static final long LATEST = Long.MAX_VALUE;

    /**
     * Limits of a topic's sample.
     *
     * @param bytes as stored; reading stops with the batches that exceed it, and is repeated once
     * @param seconds for each of the two readings
     */
    record Limits(long records, long bytes, double seconds) {}

    /**
     * Return times that divide the period of a topic's records into equal parts, the last one {@link #LATEST}.
     *
     * @throws LeaderNotAvailableException if no partition has a leader
     */
    static List<Long> times(Admin admin, TopicDescription topic, int count) throws Exception {
        List<Long> times = new ArrayList<>();
        if (count > 1) {
            List<TopicPartition> partitions = requireReadable(topic);
            long first = answers(admin, partitions, OffsetSpec.forTimestamp(0)).values().stream()
                    .mapToLong(ListOffsetsResultInfo::timestamp).filter(each -> each >= 0).min().orElse(0);
            long period = Math.min(newest(admin, partitions), System.currentTimeMillis()) - first;
            for (int number = 1; number < count; number++) {
                times.add(first + period * number / count);
            }
        }
        times.add(LATEST);
        return times;
    }

    private static long newest(Admin admin, List<TopicPartition> partitions) throws Exception {
        return answers(admin, partitions, OffsetSpec.maxTimestamp()).values().stream()
                .mapToLong(ListOffsetsResultInfo::timestamp).max().orElse(0);
    }

    /**
     * Read the latest records of a period.
     *
     * <p>If they exceed the limit of bytes, as many as fit are read anew, since reading begins with the oldest.
     *
     * @param sinceMs the period's beginning, in milliseconds since 1970
     * @param timeMs its end, or {@link #LATEST}
     * @throws LeaderNotAvailableException if no partition has a leader
     */
    static TopicSample read(Admin admin, BatchReader reader, TopicDescription topic, Limits limits, long sinceMs, long timeMs)
            throws Exception {
        requireReadable(topic);
        TopicSample first = read(admin, reader, topic, limits, sinceMs, timeMs, limits.records());
        long records = first.batches().stream().mapToLong(each -> each.records().size()).sum();
        if (!first.isCut() || records < 2) {
            return first;
        }
        TopicSample latest = read(admin, reader, topic, limits, sinceMs, timeMs, (long) (FITTING * records));
        return new TopicSample(latest.batches(), first.readBytes() + latest.readBytes(), latest.isCut());
    }

    private static TopicSample read(
            Admin admin, BatchReader reader, TopicDescription topic, Limits limits, long sinceMs, long timeMs,
            long records) throws Exception {
        long untilNs = System.nanoTime() + (long) (limits.seconds() * 1e9);
        Map<TopicPartition, Long> begins = offsets(admin, readable(topic), OffsetSpec.earliest());
        Map<TopicPartition, Long> ends = offsets(admin, readable(topic), OffsetSpec.latest());
        if (sinceMs > 0) {
            begins = since(admin, sinceMs, begins, ends);
        }
        if (timeMs != LATEST) {
            ends = since(admin, timeMs, begins, ends);
        }
        Map<TopicPartition, Long> left = startOf(admin, begins, ends, timeMs, records);
        int partitionBytes = (int) Math.max(MIN_FETCH_BYTES,
                Math.min(limits.bytes() / Math.max(left.size(), 1), MAX_FETCH_BYTES));
        Map<TopicPartition, Long> lastTimestamps = new HashMap<>();
        Map<Node, Integer> emptyAnswers = new HashMap<>();
        List<StoredBatch> batches = new ArrayList<>();
        long readBytes = 0;
        try (BufferSupplier decompression = BufferSupplier.create()) {
            for (int round = 0; !left.isEmpty() && readBytes < limits.bytes() && System.nanoTime() < untilNs; round++) {
                for (Map.Entry<Node, Map<TopicPartition, Long>> ofNode : byLeader(topic, left, round).entrySet()) {
                    var answers = reader.fetch(ofNode.getKey(), topic.topicId(), ofNode.getValue(), partitionBytes);
                    long before = readBytes;
                    for (var answer : answers.entrySet()) {
                        TopicPartition partition = answer.getKey();
                        for (RecordBatch batch : answer.getValue().batches()) {
                            readBytes += batch.sizeInBytes();
                            left.put(partition, batch.nextOffset());
                            lastTimestamps.merge(partition, batch.maxTimestamp(), Math::max);
                            if (!batch.isControlBatch() && batch.baseOffset() < ends.get(partition)) {
                                batches.add(StoredBatch.of(partition.partition(), batch, decompression));
                            }
                        }
                        if (left.get(partition) >= ends.get(partition)) {
                            left.remove(partition);
                        }
                    }
                    // A compacted topic may end with offsets that hold no record; a throttled answer is empty, too.
                    if (readBytes == before && emptyAnswers.merge(ofNode.getKey(), 1, Integer::sum) >= MAX_EMPTY_ANSWERS) {
                        left.keySet().removeAll(ofNode.getValue().keySet());
                    }
                }
            }
        }
        // Partitions that were not read to their ends are known up to there only.
        long until = left.keySet().stream().filter(lastTimestamps::containsKey).mapToLong(lastTimestamps::get).min()
                .orElse(Long.MAX_VALUE);
        batches.removeIf(each -> each.records().isEmpty() || each.firstTimestampMs() > until);
        batches.sort(Comparator.comparingLong(StoredBatch::firstTimestampMs));
        return new TopicSample(batches, readBytes, !left.isEmpty());
    }

    /**
     * Return each partition's first offset since the latest point in time after which there are at least this many
     * records; the beginnings if there are fewer. Empty partitions are omitted.
     */
    private static Map<TopicPartition, Long> startOf(
            Admin admin, Map<TopicPartition, Long> begins, Map<TopicPartition, Long> ends, long timeMs, long records)
            throws Exception {
        Map<TopicPartition, Long> start = begins;
        if (count(begins, ends) > records) {
            long newest = timeMs == LATEST ? newest(admin, List.copyOf(begins.keySet())) : timeMs;
            long back = 1;
            start = since(admin, newest - back, begins, ends);
            while (count(start, ends) < records && back < newest) {
                back *= LOOK_BACK_FACTOR;
                start = since(admin, newest - back, begins, ends);
            }
            long early = newest - back;
            long late = newest - back / LOOK_BACK_FACTOR;
            while (late - early > 1 && count(start, ends) > MAX_OVERSHOOT * records) {
                long between = (early + late) / 2;
                Map<TopicPartition, Long> found = since(admin, between, begins, ends);
                if (count(found, ends) < records) {
                    late = between;
                } else {
                    early = between;
                    start = found;
                }
            }
        }
        Map<TopicPartition, Long> left = new HashMap<>(start);
        left.entrySet().removeIf(each -> each.getValue() >= ends.get(each.getKey()));
        return left;
    }

    private static Map<TopicPartition, Long> since(
            Admin admin, long timestampMs, Map<TopicPartition, Long> begins, Map<TopicPartition, Long> ends)
            throws Exception {
        Map<TopicPartition, Long> found = offsets(
                admin, List.copyOf(begins.keySet()), OffsetSpec.forTimestamp(Math.max(timestampMs, 0)));
        found.replaceAll((partition, offset) -> offset < 0 ? ends.get(partition)
                : Math.max(offset, begins.get(partition)));
        return found;
    }

    private static List<TopicPartition> requireReadable(TopicDescription topic) {
        if (readable(topic).isEmpty()) {
            throw new LeaderNotAvailableException("no partition has a leader");
        }
        return readable(topic);
    }

    /** Return the partitions that have a leader. */
    static List<TopicPartition> readable(TopicDescription topic) {
        return topic.partitions().stream().filter(TopicSample::hasLeader)
                .map(each -> new TopicPartition(topic.name(), each.partition())).toList();
    }

    private static boolean hasLeader(TopicPartitionInfo partition) {
        return partition.leader() != null && !partition.leader().isEmpty();
    }

    private static long count(Map<TopicPartition, Long> from, Map<TopicPartition, Long> ends) {
        return from.entrySet().stream()
                .mapToLong(each -> Math.max(0, ends.get(each.getKey()) - each.getValue())).sum();
    }

    /** Return the partitions by leader; another one comes first in each round, since a broker fills that one first. */
    private static Map<Node, Map<TopicPartition, Long>> byLeader(
            TopicDescription topic, Map<TopicPartition, Long> from, int round) {
        List<TopicPartitionInfo> inOrder = new ArrayList<>(topic.partitions());
        Collections.rotate(inOrder, -round);
        Map<Node, Map<TopicPartition, Long>> found = new LinkedHashMap<>();
        for (TopicPartitionInfo each : inOrder) {
            TopicPartition partition = new TopicPartition(topic.name(), each.partition());
            if (from.containsKey(partition)) {
                found.computeIfAbsent(each.leader(), node -> new LinkedHashMap<>()).put(partition, from.get(partition));
            }
        }
        return found;
    }

    static Map<TopicPartition, Long> offsets(Admin admin, List<TopicPartition> partitions, OffsetSpec which)
            throws Exception {
        Map<TopicPartition, Long> found = new HashMap<>();
        answers(admin, partitions, which).forEach((partition, answer) -> found.put(partition, answer.offset()));
        return found;
    }

    private static Map<TopicPartition, ListOffsetsResultInfo> answers(
            Admin admin, List<TopicPartition> partitions, OffsetSpec which) throws Exception {
        var wanted = partitions.stream().collect(Collectors.toMap(Function.identity(), each -> which));
        return admin.listOffsets(wanted, new ListOffsetsOptions().timeoutMs(TIMEOUT_MS)).all().get();
    }
}
