package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.common.TopicPartition;
import org.junit.jupiter.api.Test;

class ReadOffsetsTest {
    private static final TopicPartition FIRST = new TopicPartition("load", 0);
    private static final TopicPartition SECOND = new TopicPartition("load", 1);

    private final ReadOffsets offsets = new ReadOffsets(Map.of(SECOND, 0L, FIRST, 10L), Map.of(SECOND, 2L, FIRST, 15L));

    private static List<ConsumerRecord<byte[], byte[]>> records(TopicPartition partition, long... offsets) {
        return Arrays.stream(offsets)
                .mapToObj(each -> new ConsumerRecord<>(partition.topic(), partition.partition(), each, (byte[]) null,
                        new byte[1]))
                .toList();
    }

    private JsonNode described(int partition) {
        ArrayNode described = new ObjectMapper().createArrayNode();
        offsets.describe(described);
        assertEquals(List.of("0", "1"), described.findValuesAsText("partition"));
        return described.get(partition);
    }

    @Test
    void aPartitionThatWasReadToItsEndHasEveryOffsetOnce() {
        offsets.read(FIRST, records(FIRST, 10, 11, 12));
        offsets.read(FIRST, records(FIRST, 13, 14));

        assertEquals(
                "{\"partition\":0,\"begin\":10,\"end\":15,\"first\":10,\"last\":14,\"records\":5,\"lost\":0,\"unread\":0,"
                        + "\"twice\":0}",
                described(0).toString());
        assertEquals(2, offsets.ahead());
    }

    @Test
    void whatIsPassedOverIsLostAndWhatComesAgainIsCountedAsSuch() {
        offsets.read(FIRST, records(FIRST, 10, 12));
        offsets.read(FIRST, records(FIRST, 12, 13));
        JsonNode described = described(0);

        assertEquals(4, described.get("records").asLong());
        assertEquals(1, described.get("lost").asLong());
        assertEquals(1, described.get("twice").asLong());
        assertEquals(1, described.get("unread").asLong());
        assertEquals(14, offsets.next(FIRST));
        assertEquals(1 + 2, offsets.ahead());
    }

    @Test
    void aPartitionOfWhichNothingWasReadHasNoFirstAndNoLastOffset() {
        JsonNode described = described(1);

        assertEquals("null", described.get("first").toString());
        assertEquals("null", described.get("last").toString());
        assertEquals(2, described.get("unread").asLong());
        assertEquals(0, offsets.next(SECOND));
    }

    @Test
    void recordsThatCameSinceCountOnceTheEndOffsetsAreAskedForAgain() {
        offsets.read(SECOND, records(SECOND, 0, 1, 2, 3));
        assertEquals(5 - 2, offsets.ahead());

        offsets.endAt(Map.of(FIRST, 10L, SECOND, 5L));
        assertEquals(1, offsets.ahead());
        assertEquals(1, described(1).get("unread").asLong());
    }
}
