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
 * <p>Until then nobody reads, so that joining is no part of what is measured, and what a member gives up while others
 * join is not read twice. All of Kafka's assignors balance the partitions of one topic that way.
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

    /** Begin to count the time that the group takes to be complete. */
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

    /** Return how long the group took to be complete, from the request to join to the last assignment. */
    synchronized double rebalanceS() {
        return (startedNs - askedNs) / 1e9;
    }

    /** Return how many times a member lost or got partitions after the group was complete. */
    synchronized long changesSince() {
        return changesSince;
    }
}
