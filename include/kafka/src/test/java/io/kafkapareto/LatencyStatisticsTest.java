package io.kafkapareto;

import static io.kafkapareto.SimulatedClock.MS;
import static io.kafkapareto.SimulatedClock.S;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.List;
import java.util.concurrent.atomic.AtomicBoolean;
import org.apache.kafka.common.errors.TimeoutException;
import org.junit.jupiter.api.Test;

class LatencyStatisticsTest {
    private final SimulatedClock clock = new SimulatedClock();
    private final LatencyStatistics outcomes = new LatencyStatistics(clock, new AtomicBoolean());

    private ObjectNode described() {
        return described(outcomes);
    }

    private static ObjectNode described(LatencyStatistics outcomes) {
        ObjectNode part = new ObjectMapper().createObjectNode();
        outcomes.describe(part);
        return part;
    }

    /** Acknowledge a record now that was due and sent this long ago. */
    private void acknowledge(long sinceDueNs, long sinceSentNs) {
        outcomes.completed(clock.nanoTime() - sinceDueNs, clock.nanoTime() - sinceSentNs, null);
    }

    @Test
    void percentilesAreInMicrosecondsToThreeDigits() {
        for (int ms = 1; ms <= 1_000; ms++) {
            acknowledge(ms * MS, ms * MS / 10);
        }
        ObjectNode part = described();

        assertEquals(1_000, part.get("acknowledged").asLong());
        assertEquals(500_500, part.get("latency_us").get("mean").asDouble(), 500);
        assertEquals(288_675, part.get("latency_us").get("standard_deviation").asDouble(), 300);
        assertEquals(500_000, part.get("latency_us").get("p50").asDouble(), 500);
        assertEquals(950_000, part.get("latency_us").get("p95").asDouble(), 950);
        assertEquals(999_000, part.get("latency_us").get("p999").asDouble(), 999);
        assertEquals(1_000_000, part.get("latency_us").get("max").asDouble(), 1_000);
        assertEquals(95_000, part.get("latency_from_send_us").get("p95").asDouble(), 95);
    }

    @Test
    void aLatencyBeyondAnHourCountsAsAnHour() {
        acknowledge(5_000 * S, 5_000 * S);

        assertEquals(3_600e6, described().get("latency_us").get("max").asDouble(), 3.6e6);
    }

    @Test
    void acknowledgementsAreCountedInWindowsOfAHundredMilliseconds() {
        outcomes.startAfresh(clock.nanoTime());
        acknowledge(0, 0);
        clock.advance(99 * MS);
        acknowledge(0, 0);
        clock.advance(MS);
        acknowledge(0, 0);
        clock.advance(200 * MS);
        acknowledge(0, 0);

        assertEquals("[2,1,0,1]", described().get("window_records").toString());
        assertEquals(100, described().get("window_ms").asLong());
        assertEquals(0.3, described().get("elapsed_s").asDouble(), 1e-9);
    }

    @Test
    void elapsedTimeEndsWithTheLastAcknowledgement() {
        clock.advance(S);
        acknowledge(0, 0);
        clock.advance(S);
        outcomes.completed(clock.nanoTime(), clock.nanoTime(), new TimeoutException("late"));

        assertEquals(1.0, described().get("elapsed_s").asDouble(), 1e-9);
    }

    @Test
    void whereNothingWasAcknowledgedThereAreNoLatenciesAndNoTime() {
        ObjectNode part = described();

        assertEquals(0, part.get("acknowledged").asLong());
        assertEquals(0, part.get("elapsed_s").asDouble());
        assertTrue(part.get("latency_us").isNull());
        assertTrue(part.get("latency_from_send_us").isNull());
        assertEquals("[]", part.get("window_records").toString());
    }

    @Test
    void startingAfreshForgetsLatenciesAndKeepsFailures() {
        acknowledge(MS, MS);
        outcomes.completed(0, 0, new TimeoutException("late"));
        outcomes.startAfresh(clock.nanoTime());

        assertEquals(0, outcomes.acknowledged());
        assertTrue(outcomes.failed());
        assertEquals("[]", described().get("window_records").toString());
        assertEquals("{\"TimeoutException: late\":1}", described().get("failures").toString());
    }

    @Test
    void failuresAreCountedByTheirReasonAndGiveNoLatency() {
        assertFalse(outcomes.failed());
        outcomes.completed(0, 0, new TimeoutException("late"));
        outcomes.completed(0, 0, new TimeoutException("late"));
        outcomes.completed(0, 0, new IllegalStateException());

        assertTrue(outcomes.failed());
        assertEquals(0, outcomes.acknowledged());
        assertEquals(
                "{\"TimeoutException: late\":2,\"IllegalStateException: null\":1}",
                described().get("failures").toString());
    }

    @Test
    void reasonsBeyondTheTenthAreCountedTogether() {
        for (int record = 0; record < 25; record++) {
            outcomes.completed(0, 0, new TimeoutException("record " + record));
        }
        outcomes.completed(0, 0, new TimeoutException("record 3"));
        ObjectNode part = described();

        assertEquals(11, part.get("failures").size());
        assertEquals(2, part.get("failures").get("TimeoutException: record 3").asInt());
        assertEquals(15, part.get("failures").get("other").asInt());
    }

    @Test
    void producersOfOnePartComeTogetherInOneHistogramOneRowOfWindowsAndOneListOfReasons() {
        AtomicBoolean failed = new AtomicBoolean();
        LatencyStatistics early = new LatencyStatistics(clock, failed);
        LatencyStatistics late = new LatencyStatistics(clock, failed);
        long startedNs = clock.nanoTime();
        List.of(early, late).forEach(each -> each.startAfresh(startedNs));
        clock.advance(50 * MS);
        early.completed(startedNs, startedNs, null);
        clock.advance(200 * MS);
        late.completed(startedNs, clock.nanoTime() - MS, null);
        early.completed(0, 0, new TimeoutException("expired"));
        late.completed(0, 0, new TimeoutException("expired"));
        ObjectNode part = described(LatencyStatistics.merged(List.of(early, late)));

        assertEquals(2, part.get("acknowledged").asLong());
        assertEquals(0.25, part.get("elapsed_s").asDouble(), 1e-9);
        assertEquals("[1,0,1]", part.get("window_records").toString());
        assertEquals(250_000, part.get("latency_us").get("max").asDouble(), 250);
        assertEquals(1_000, part.get("latency_from_send_us").get("p50").asDouble(), 1);
        assertEquals("{\"TimeoutException: expired\":2}", part.get("failures").toString());
    }

    @Test
    void outcomesSurviveTheTripToAnotherMachine() throws Exception {
        outcomes.startAfresh(clock.nanoTime());
        for (int record = 1; record <= 1_000; record++) {
            clock.advance(MS / 3);
            acknowledge(record * MS / 7, record * MS / 9);
        }
        outcomes.completed(0, 0, new TimeoutException("expired"));
        String sent = outcomes.toJson().toString();

        assertEquals(described(), described(LatencyStatistics.ofJson(new ObjectMapper().readTree(sent))));
    }

    @Test
    void noOutcomesSurviveTheTripToAnotherMachine() throws Exception {
        String sent = outcomes.toJson().toString();

        assertEquals(described(), described(LatencyStatistics.ofJson(new ObjectMapper().readTree(sent))));
    }

    @Test
    void aFailureOfOneProducerIsSeenByAllThatShareItsPart() {
        AtomicBoolean failed = new AtomicBoolean();
        LatencyStatistics other = new LatencyStatistics(clock, failed);
        new LatencyStatistics(clock, failed).completed(0, 0, new TimeoutException("expired"));

        assertTrue(other.failed());
    }

    @Test
    void aProducerWithoutAnAnswerDoesNotChangeWhenTheLastOneCame() {
        clock.advance(100 * MS);
        acknowledge(MS, MS);
        LatencyStatistics silent = new LatencyStatistics(clock, new AtomicBoolean());
        ObjectNode part = described(LatencyStatistics.merged(List.of(outcomes, silent)));

        assertEquals(0.1, part.get("elapsed_s").asDouble(), 1e-9);
    }
}
