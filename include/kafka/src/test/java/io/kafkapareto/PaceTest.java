package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class PaceTest {
    private static final long SECOND_NS = 1_000_000_000L;

    @Test
    void aFixedPacePlansAsManyRecordsAsRateTimesSeconds() {
        Pace pace = new Pace(500, true);

        assertEquals(1_000, pace.records(2));
        assertEquals(1_250, pace.records(2.5));
        assertEquals(0, pace.records(0));
        assertEquals(1, new Pace(0.4, true).records(1.5)); // 0.6 records round to one
    }

    @Test
    void slotsLieAtEqualDistancesAndDoNotDrift() {
        Pace pace = new Pace(3_000, true);

        assertEquals(0, pace.offsetNs(0));
        assertEquals(333_333, pace.offsetNs(1));
        assertEquals(SECOND_NS, pace.offsetNs(3_000), 1);
        assertEquals(3_600 * SECOND_NS, pace.offsetNs(3_000 * 3_600L), 1_000); // at most a microsecond off after an hour
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

    @Test
    void sharesOfSeveralProducersHoldEveryRecordOnceAtItsSlotOfTheWhole() {
        Pace whole = new Pace(700, true);
        for (int producers = 1; producers <= 11; producers++) {
            Set<Long> slots = new HashSet<>();
            long records = 0;
            for (int producer = 0; producer < producers; producer++) {
                Pace share = whole.shareOf(producer, producers);
                records += share.records(0.01);
                LongStream.range(0, share.records(0.01)).map(share::offsetNs).forEach(slots::add);
            }
            assertEquals(7, records);
            assertEquals(LongStream.range(0, 7).map(whole::offsetNs).boxed().collect(Collectors.toSet()), slots);
        }
    }

    @Test
    void aPatternOfArrivalsKeepsTheRate() {
        Pace pace = new Pace(500, true).withArrivals(Arrivals.recorded(LongStream.of(0, 0, 30, 40))).scaledTo(0.02);

        assertEquals(10, pace.records(0.02));
        assertEquals(0, pace.offsetNs(1));
        assertEquals(SECOND_NS / 50, pace.offsetNs(10), 2);
        assertEquals(pace.offsetNs(3), pace.shareOf(1, 2).offsetNs(1));
    }

    @Test
    void aCeilingPlansNoNumberOfRecordsAndIsSharedAsWell() {
        Pace share = new Pace(100, false).shareOf(1, 2);

        assertEquals(SECOND_NS / 100, share.offsetNs(0));
        assertEquals(3 * SECOND_NS / 100, share.offsetNs(1));
        assertEquals(Long.MAX_VALUE, share.records(1));
    }
}
