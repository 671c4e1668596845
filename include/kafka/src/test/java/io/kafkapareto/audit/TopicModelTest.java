package io.kafkapareto.audit;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class TopicModelTest {
    @Test
    void distributionsDifferByTheirLargestGap() {
        assertEquals(0, TopicModel.distance(new int[] {1, 2, 2}, new int[] {1, 1, 2, 2, 2, 2}));
        assertEquals(0.5, TopicModel.distance(new int[] {1, 1, 1, 2}, new int[] {1, 2, 2, 2}));
        assertEquals(1, TopicModel.distance(new int[] {1, 2}, new int[] {5, 9, 9}));
    }
}
