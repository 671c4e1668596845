package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import java.io.IOException;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;

/**
 * Writes back dirty pages. Data written by brokers on this machine stays in memory for half a minute, and then goes to
 * the disk in a burst. This class makes the kernel write it now instead of during the next measurement.
 */
final class WriteBack {
    /** How long a load waited, and whether everything was written. */
    record Wait(double waitedS, boolean settled) {
        /** Return the longest of the machines' waits; null if none waited. */
        static Wait longest(List<Wait> machines) {
            List<Wait> waits = machines.stream().filter(Objects::nonNull).toList();
            return waits.isEmpty() ? null : new Wait(
                    waits.stream().mapToDouble(Wait::waitedS).max().getAsDouble(),
                    waits.stream().allMatch(Wait::settled));
        }

        static Wait ofJson(JsonNode wait) {
            return wait == null ? null : new Wait(wait.get("waited_s").asDouble(), wait.get("settled").asBoolean());
        }
    }

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
