package io.kafkapareto;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Writes back dirty pages. Data written by brokers on this machine stays in memory for half a minute, and then goes to
 * the disk in a burst. This class makes the kernel write it now instead of during the next measurement.
 */
final class WriteBack {
    private WriteBack() {}

    /** Return whether all of this machine's files were written to disk within the limit. */
    static boolean settle(Duration limit) {
        try {
            Process sync = new ProcessBuilder("sync")
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD).redirectError(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (sync.waitFor(limit.toMillis(), TimeUnit.MILLISECONDS)) {
                return sync.exitValue() == 0;
            }
            sync.destroyForcibly();
            return false;
        } catch (IOException noSuchProgram) {
            return false;
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
            return false;
        }
    }
}
