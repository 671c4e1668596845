package io.kafkapareto;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * Writes back dirty pages. Whatever brokers on this machine wrote stays in its memory for half a minute, and then goes
 * to the disk at once: the kernel is asked to do that now, not during the next measurement.
 */
final class WriteBack {
    private WriteBack() {}

    /** Return whether all of this machine's files were on their disks within the limit. */
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
