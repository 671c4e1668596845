package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

class ArrivalsTest {
    private static double[] positions(Arrivals arrivals, int records) {
        return LongStream.range(0, records).mapToDouble(arrivals::position).toArray();
    }

    @Test
    void constantArrivalsHaveGapsOfOne() {
        assertArrayEquals(new double[] {0, 1, 2, 3}, positions(Arrivals.constant(), 4));
        assertArrayEquals(new double[] {0, 1, 2, 3}, positions(Arrivals.constant().scaledTo(4), 4));
    }

    /** The gaps of Poisson arrivals have a mean of one and a standard deviation of one. */
    @Test
    void poissonArrivalsHaveExponentialGaps() {
        int records = 60_000;
        double[] positions = positions(Arrivals.poisson().scaledTo(records), records);
        double squares = 0;
        int aboveTwo = 0;
        for (int each = 1; each < records; each++) {
            double gap = positions[each] - positions[each - 1];
            squares += gap * gap;
            aboveTwo += gap > 2 ? 1 : 0;
        }
        assertEquals(records, positions[records - 1], 10);
        assertEquals(2, squares / records, 0.06);
        assertEquals(Math.exp(-2), aboveTwo / (double) records, 0.01);
    }

    /** Two at 0 ms, one at 30 and one at 40, and 40/3 ms to the next repetition: 53.3 ms for four records. */
    @Test
    void recordedArrivalsKeepTheirProportionsAndRepeat() {
        Arrivals arrivals = Arrivals.recorded(LongStream.of(1040, 1000, 1030, 1000));

        assertArrayEquals(new double[] {0, 0, 2.25, 3, 4, 4, 6.25, 7}, positions(arrivals, 8), 1e-9);
    }

    @Test
    void aPatternIsScaledSoThatItsRecordsTakeAsLongAsAtEqualIntervals() {
        Arrivals three = Arrivals.recorded(LongStream.of(1040, 1000, 1030, 1000)).scaledTo(3);

        assertArrayEquals(new double[] {0, 0, 2.25, 3}, positions(three, 4), 1e-9);
        assertEquals(6, Arrivals.recorded(LongStream.of(0, 1, 100)).scaledTo(6).position(6), 1e-9);
    }

    @Test
    void recordsOfOneMomentArriveAtEqualIntervals() {
        assertArrayEquals(new double[] {0, 1, 2}, positions(Arrivals.recorded(LongStream.of(5, 5, 5)), 3));
    }
}
