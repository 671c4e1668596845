package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests that the limit holds in every second, after any history. */
@Timeout(60)
class ByteLimitTest {
    private static final double MIB_PER_SECOND = 8;
    private static final int ROW_BYTES = 1 << 10;
    /** A burst may have a tenth of a second's bytes; those of the last millisecond and the last row are not delayed. */
    private static final double ALLOWED_AHEAD_S = 0.105;

    @Test
    void bytesTakeTheTimeThatTheLimitGivesThem() {
        requireHalfASecond(secondsFor(new ByteLimit(MIB_PER_SECOND), 4 << 20));
    }

    @Test
    void aPauseIsNoCreditForABurst() throws InterruptedException {
        ByteLimit limit = new ByteLimit(MIB_PER_SECOND);
        secondsFor(limit, 1 << 20);
        TimeUnit.MILLISECONDS.sleep(600);

        requireHalfASecond(secondsFor(limit, 4 << 20));
    }

    @Test
    void severalThreadsShareOneLimit() throws InterruptedException {
        ByteLimit limit = new ByteLimit(MIB_PER_SECOND);
        long beganNs = System.nanoTime();
        Thread other = new Thread(() -> secondsFor(limit, 2 << 20));
        other.start();
        secondsFor(limit, 2 << 20);
        other.join();

        requireHalfASecond((System.nanoTime() - beganNs) / 1e9);
    }

    @Test
    void withoutALimitNothingWaits() {
        assertTrue(secondsFor(new ByteLimit(0), 1 << 30) < 10);
    }

    private static void requireHalfASecond(double tookS) {
        assertTrue(tookS >= 0.5 - ALLOWED_AHEAD_S, tookS + " s for half a second's bytes");
    }

    private static double secondsFor(ByteLimit limit, int bytes) {
        long beganNs = System.nanoTime();
        for (int sent = 0; sent < bytes; sent += ROW_BYTES) {
            limit.awaitRoomFor(ROW_BYTES);
        }
        return (System.nanoTime() - beganNs) / 1e9;
    }
}
