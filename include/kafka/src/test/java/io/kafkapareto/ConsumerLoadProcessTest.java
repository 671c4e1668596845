package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the consumers' load generator as a command: arguments and exit status. */
@Timeout(60)
class ConsumerLoadProcessTest {
    private static final String NEEDED = "--mode drain --topic load --group g --command-config none";

    @TempDir
    private Path folder;

    @Test
    void whatIsNotGivenMeansOneConsumerWithoutPauseAndWarmUp() throws Exception {
        Namespace options = ConsumerLoad.parser().parseArgs(NEEDED.split(" "));

        assertEquals(1, options.getInt("consumers"));
        assertEquals(0.0, options.getDouble("poll_pause_ms"));
        assertEquals(0.0, options.getDouble("warmup_seconds"));
        assertNull(options.getString("producer_config"));
    }

    @ParameterizedTest
    @CsvSource({
        "--mode drain --group g --command-config none, --topic",
        "--mode drain --topic load --command-config none, --group",
        "--mode drain --topic load --group g, --command-config",
        "--topic load --group g --command-config none, --mode",
        NEEDED + " --mode slow, invalid choice",
        NEEDED + " --consumers 0, invalid choice",
        NEEDED + " --record-size 7, invalid choice",
        NEEDED + " --rate fast, could not convert 'fast' to Double",
    })
    void argumentsThatCannotBeUsedAreRefusedByName(String arguments, String says) {
        var refused = assertThrows(
                ArgumentParserException.class, () -> ConsumerLoad.parser().parseArgs(arguments.split(" ")));

        assertTrue(refused.getMessage().contains(says), refused.getMessage());
    }

    @Test
    void aClusterThatIsNotThereEndsItWithAnErrorAndNothingOnStdout() throws Exception {
        Path config = Files.write(
                folder.resolve("consumer.properties"),
                List.of("bootstrap.servers=127.0.0.1:1", "default.api.timeout.ms=300", "request.timeout.ms=200"));
        try (JavaProcess process = new JavaProcess(
                folder, ConsumerLoad.class, "--mode", "drain", "--topic", "load", "--group", "g", "--command-config",
                config.toString())) {
            String complaint = process.endedWith(1);
            assertTrue(complaint.contains("TimeoutException"), complaint);
        }
    }
}
