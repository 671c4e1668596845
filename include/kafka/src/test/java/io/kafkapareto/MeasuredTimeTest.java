package io.kafkapareto;

import static io.kafkapareto.SimulatedClock.S;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import org.junit.jupiter.api.Test;

class MeasuredTimeTest {
    private final MeasuredTime measured = new MeasuredTime();

    @Test
    void nothingIsMeasuredBeforeTheTimeIsKnown() {
        assertFalse(measured.isKnown());
        assertFalse(measured.holds(0));
        assertEquals(0, measured.shareOf(-S, S));
        assertEquals(0, measured.lengthNs());
    }

    @Test
    void anIntervalCountsByTheShareThatLiesWithin() {
        measured.open(-S, 3 * S);

        assertEquals(1, measured.shareOf(0, S));
        assertEquals(0.5, measured.shareOf(-2 * S, 0));
        assertEquals(0.25, measured.shareOf(2 * S, 6 * S));
        assertEquals(0.8, measured.shareOf(-S, 4 * S));
        assertEquals(0, measured.shareOf(4 * S, 5 * S));
        assertEquals(0, measured.shareOf(-5 * S, -2 * S));
        assertEquals(0, measured.shareOf(S, S));
        assertEquals(4 * S, measured.lengthNs());
    }

    @Test
    void anOpenEndIsSetByTheFirstWhoClosesIt() throws InterruptedException {
        measured.open(-S, Long.MAX_VALUE);
        assertTrue(measured.holds(100 * S));
        assertFalse(measured.awaitClosed(0.001));
        measured.close(S);
        measured.close(5 * S);

        assertTrue(measured.awaitClosed(0.001));
        assertEquals(2 * S, measured.lengthNs());
        assertTrue(measured.holds(S));
        assertFalse(measured.holds(S + 1));
    }

    @Test
    void aTimeThatEndsBeforeItsBeginningHasNoLength() {
        measured.open(5 * S, Long.MAX_VALUE);
        measured.close(S);

        assertEquals(0, measured.lengthNs());
        assertEquals(0, measured.shareOf(0, 6 * S));
    }
}
