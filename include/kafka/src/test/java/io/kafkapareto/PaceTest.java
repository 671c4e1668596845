package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;

import org.junit.jupiter.api.Test;

class PaceTest {
    private static final long SECOND_NS = 1_000_000_000L;

    @Test
    void aFixedPacePlansAsManyRecordsAsRateTimesSeconds() {
        Pace pace = new Pace(500, true);

        assertEquals(1_000, pace.records(2));
        assertEquals(1_250, pace.records(2.5));
        assertEquals(0, pace.records(0));
        assertEquals(1, new Pace(0.4, true).records(1.5)); // 0.6 records are one
    }

    @Test
    void aCeilingPlansNoNumberOfRecords() {
        assertEquals(Long.MAX_VALUE, new Pace(500, false).records(2));
    }

    @Test
    void slotsLieAtEqualDistancesAndDoNotDrift() {
        Pace pace = new Pace(3_000, true);

        assertEquals(0, pace.offsetNs(0));
        assertEquals(333_333, pace.offsetNs(1));
        assertEquals(SECOND_NS, pace.offsetNs(3_000), 1);
        assertEquals(3_600 * SECOND_NS, pace.offsetNs(3_000 * 3_600L), 1_000); // after an hour a microsecond at most
    }

    @Test
    void withoutACeilingEverySlotIsNow() {
        Pace pace = new Pace(Double.POSITIVE_INFINITY, false);

        assertEquals(0, pace.offsetNs(0));
        assertEquals(0, pace.offsetNs(1_000_000_000));
    }

    @Test
    void aBacklogIsWorkedOffForThreeTimesThePlannedTimeAtMost() {
        assertEquals(6 * SECOND_NS, new Pace(500, true).longestNs(2));
        assertEquals(2 * SECOND_NS, new Pace(500, false).longestNs(2));
    }
}
