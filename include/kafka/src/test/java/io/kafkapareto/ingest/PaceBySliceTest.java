package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that a pace is the rows acknowledged since the last sample, divided by the time since. */
@Timeout(60)
class PaceBySliceTest {
    private static final long ROWS_BETWEEN_LOOKS = 1_000;
    private static final int LOOKS = 3;

    private final AtomicInteger looks = new AtomicInteger();

    /** Interrupt the measuring thread, which is this one, at the last sample. */
    private long rowsAtThisLook() {
        if (looks.get() == LOOKS) {
            Thread.currentThread().interrupt();
        }
        return looks.getAndIncrement() * ROWS_BETWEEN_LOOKS;
    }

    @AfterEach
    void forgetInterrupt() {
        Thread.interrupted();
    }

    @Test
    void everySliceHasThePaceOfItsOwnRows() {
        PaceBySlice pace = new PaceBySlice(this::rowsAtThisLook, Integer.MAX_VALUE);
        long beganNs = System.nanoTime();

        pace.run();

        double tookS = (System.nanoTime() - beganNs) / 1e9;
        double sliceS = PaceBySlice.SLICE_NS / 1e9;
        List<Double> found = pace.soFar();
        assertEquals(tookS / sliceS, found.size(), 1, "a thread that wakes late fills the slices that it slept through");
        assertTrue(found.stream().allMatch(each -> each > 0), found.toString());
        double first = found.get(0);
        assertTrue(first <= ROWS_BETWEEN_LOOKS / sliceS, first + ": the first look comes after a whole slice");
        assertTrue(first >= ROWS_BETWEEN_LOOKS / tookS, first + ": and not after all of the time");
    }

    /** The paces of a run over days would fill the heap. */
    @Test
    void onlyTheFirstSlicesAreMeasured() {
        PaceBySlice pace = new PaceBySlice(() -> 0, 1);

        pace.run();

        assertEquals(1, pace.soFar().size());
    }
}
