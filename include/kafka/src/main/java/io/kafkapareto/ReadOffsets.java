package io.kafkapareto;

import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;

/**
 * Offsets of each partition that a group has read once, read twice, or skipped.
 *
 * <p>The topic must have no transactions and no compaction, so every offset holds a record. A partition may move from
 * one member's thread to another's.
 */
final class ReadOffsets {
    private final Map<TopicPartition, Partition> partitions = new HashMap<>();
    private final AtomicLong ahead = new AtomicLong();

    /** Reading begins at the {@code begins}; {@link #ahead} counts from there to the end offsets. */
    ReadOffsets(Map<TopicPartition, Long> begins, Map<TopicPartition, Long> ends) {
        begins.forEach((partition, begin) -> partitions.put(partition, new Partition(begin)));
        endAt(ends);
    }

    /** Set new end offsets, including records sent since. */
    void endAt(Map<TopicPartition, Long> ends) {
        partitions.forEach((key, partition) -> {
            synchronized (partition) {
                long end = ends.get(key);
                ahead.addAndGet(end - partition.end);
                partition.end = end;
            }
        });
    }

    Set<TopicPartition> partitions() {
        return partitions.keySet();
    }

    /** Return the offset after the last one read from the partition. */
    long next(TopicPartition partition) {
        Partition found = partitions.get(partition);
        synchronized (found) {
            return found.next;
        }
    }

    /** Count the partition's records from one poll. */
    void read(TopicPartition partition, List<ConsumerRecord<byte[], byte[]>> records) {
        Partition found = partitions.get(partition);
        synchronized (found) {
            long before = found.next;
            records.forEach(each -> found.read(each.offset()));
            ahead.addAndGet(before - found.next);
        }
    }

    /** Return how many offsets the group has yet to reach; negative if records arrived after the end offsets. */
    long ahead() {
        return ahead.get();
    }

    void describe(ArrayNode described) {
        partitions.entrySet().stream()
                .sorted(Comparator.comparingInt(entry -> entry.getKey().partition()))
                .forEach(entry -> entry.getValue().describe(described.addObject().put("partition", entry.getKey().partition())));
    }

    private static final class Partition {
        private final long begin;
        private long end;
        private long next;
        private long first = -1;
        private long records;
        private long passedOver;
        private long twice;

        Partition(long begin) {
            this.begin = begin;
            end = begin;
            next = begin;
        }

        void read(long offset) {
            records++;
            first = first < 0 ? offset : Math.min(first, offset);
            if (offset < next) {
                twice++;
                return;
            }
            passedOver += offset - next;
            next = offset + 1;
        }

        synchronized void describe(ObjectNode described) {
            described.put("begin", begin).put("end", end);
            if (records > 0) {
                described.put("first", first).put("last", next - 1);
            } else {
                described.putNull("first").putNull("last");
            }
            described.put("records", records)
                    .put("lost", passedOver)
                    .put("unread", Math.max(end - next, 0))
                    .put("twice", twice);
        }
    }
}
