package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests write-back on this machine. */
@Timeout(120)
class WriteBackTest {
    @TempDir
    private Path folder;

    @Test
    void whatWasWrittenIsOnTheDiskInTheEnd() throws Exception {
        Files.write(folder.resolve("written"), new byte[1 << 20]);

        assertTrue(WriteBack.settle(Duration.ofSeconds(100)));
    }

    @Test
    void whatTakesLongerThanItMayIsNotWaitedFor() {
        assertFalse(WriteBack.settle(Duration.ZERO));
    }
}
