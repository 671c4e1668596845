package io.kafkapareto;

import static io.kafkapareto.SimulatedClock.MS;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.stream.IntStream;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

class GroupStartTest {
    private final SimulatedClock clock = new SimulatedClock();
    private final GroupStart start = new GroupStart(clock, 2, 5);

    private static List<TopicPartition> partitions(int from, int to) {
        return IntStream.range(from, to).mapToObj(each -> new TopicPartition("load", each)).toList();
    }

    @Test
    void aGroupIsCompleteWhenAllPartitionsAreSharedEquallyAmongAllMembers() {
        start.ask();
        clock.advance(100 * MS);
        start.assign(0, partitions(0, 5)); // the first member gets all
        assertFalse(start.isComplete());
        start.revoke(0, partitions(2, 5));
        clock.advance(200 * MS);
        start.assign(1, partitions(2, 5));

        assertTrue(start.isComplete());
        assertEquals(0.3, start.rebalanceS(), 1e-9);
        assertEquals(0, start.changesSince());
    }

    @Test
    void partitionsThatAreStillToMoveKeepAGroupWaiting() {
        start.assign(0, partitions(0, 4));
        start.assign(1, partitions(4, 5));

        assertFalse(start.isComplete());
    }

    @Test
    void whatMovesAfterwardsIsCountedAndChangesNoTime() {
        start.assign(0, partitions(0, 2));
        start.assign(1, partitions(2, 5));
        double completeS = start.rebalanceS();
        clock.advance(100 * MS);
        start.revoke(1, partitions(4, 5));
        start.assign(0, partitions(4, 5));

        assertEquals(2, start.changesSince());
        assertEquals(completeS, start.rebalanceS());
    }

    @Test
    void whoWaitsIsToldWhetherItIsComplete() throws InterruptedException {
        assertFalse(start.await(0.001));
        start.assign(0, partitions(0, 2));
        start.assign(1, partitions(2, 5));
        assertTrue(start.await(0.001));
    }
}
