package io.kafkapareto;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.TopicPartition;

/**
 * Decides when a group is complete: all partitions are assigned, evenly, to all members.
 *
 * <p>No member reads before that. This keeps joining out of the measurement, and prevents duplicate reads of partitions
 * that move while others join. All of Kafka's assignors balance the partitions of one topic evenly.
 */
final class GroupStart {
    private final MonotonicClock clock;
    private final int partitions;
    private final Map<Integer, Set<TopicPartition>> assigned = new HashMap<>();
    private final CountDownLatch complete = new CountDownLatch(1);
    private long askedNs;
    private long startedNs;
    private long changesSince;

    GroupStart(MonotonicClock clock, int members, int partitions) {
        this.clock = clock;
        this.partitions = partitions;
        for (int member = 0; member < members; member++) {
            assigned.put(member, new HashSet<>());
        }
        askedNs = clock.nanoTime();
    }

    /** Start measuring the time until the group is complete. */
    synchronized void ask() {
        askedNs = clock.nanoTime();
    }

    synchronized void assign(int member, Iterable<TopicPartition> added) {
        added.forEach(assigned.get(member)::add);
        changed();
        int least = partitions / assigned.size();
        boolean balanced = assigned.values().stream().allMatch(each -> each.size() == least || each.size() == least + 1);
        int all = assigned.values().stream().mapToInt(Set::size).sum();
        if (!isComplete() && balanced && all == partitions) {
            startedNs = clock.nanoTime();
            complete.countDown();
        }
    }

    synchronized void revoke(int member, Iterable<TopicPartition> removed) {
        removed.forEach(assigned.get(member)::remove);
        changed();
    }

    private void changed() {
        if (isComplete()) {
            changesSince++;
        }
    }

    boolean isComplete() {
        return complete.getCount() == 0;
    }

    boolean await(double seconds) throws InterruptedException {
        return complete.await((long) (1e3 * seconds), TimeUnit.MILLISECONDS);
    }

    synchronized long startedNs() {
        return startedNs;
    }

    /** Return the time from the request to join to the last assignment. */
    synchronized double rebalanceS() {
        return (startedNs - askedNs) / 1e9;
    }

    /** Return how many times a member lost or gained partitions after the group was complete. */
    synchronized long changesSince() {
        return changesSince;
    }
}
