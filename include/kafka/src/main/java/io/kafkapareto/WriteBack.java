package io.kafkapareto;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/**
 * What brokers on this machine have written lies in its memory for half a minute, and is then written to the disk at
 * once. The kernel is asked to write it now, so that it does not do so during what is measured next.
 */
final class WriteBack {
    private WriteBack() {}

    /** Returns whether all of this machine's files were on their disks within the limit. */
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
