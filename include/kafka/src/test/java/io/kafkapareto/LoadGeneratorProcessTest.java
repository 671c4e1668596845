package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
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

/** Tests the load generator as a command: arguments, output and exit status. */
@Timeout(60)
class LoadGeneratorProcessTest {
    private static final String NEEDED = "--topic load --record-size 100 --command-config none";

    @TempDir
    private Path folder;

    @Test
    void whatIsNotGivenMeansNoPartNoKeysAndNoCeiling() throws Exception {
        Namespace options = LoadGenerator.parser().parseArgs(NEEDED.split(" "));

        assertEquals(0, options.getInt("keys"));
        assertEquals(1, options.getInt("producers"));
        assertEquals("random", options.getString("payload"));
        assertNull(options.getString("payload_file"));
        assertEquals(Double.POSITIVE_INFINITY, options.getDouble("max_rate"));
        for (String none : List.of("warmup_seconds", "seconds", "paced_warmup_seconds", "paced_seconds")) {
            assertEquals(0.0, options.getDouble(none));
        }
    }

    @ParameterizedTest
    @CsvSource({
        "--record-size 100 --command-config none, --topic",
        "--topic load --command-config none, --record-size",
        "--topic load --record-size 100, --command-config",
        "--topic load --command-config none --record-size much, could not convert 'much' to Integer",
        NEEDED + " --keys 1.5, could not convert '1.5' to Integer",
        NEEDED + " --paced-rate fast, could not convert 'fast' to Double",
        NEEDED + " --producers 0, invalid choice",
        NEEDED + " --payload noise, invalid choice",
        NEEDED + " --payload zeros --payload-file f, not allowed with argument",
        NEEDED + " --surprise 1, unrecognized arguments: '--surprise'",
    })
    void argumentsThatCannotBeUsedAreRefusedByName(String arguments, String says) {
        var refused = assertThrows(
                ArgumentParserException.class, () -> LoadGenerator.parser().parseArgs(arguments.split(" ")));

        assertTrue(refused.getMessage().contains(says), refused.getMessage());
    }

    @Test
    void aMistakeInTheArgumentsEndsItWithStatus2AndNothingOnStdout() throws Exception {
        try (JavaProcess process = new JavaProcess(folder, LoadGenerator.class, "--topic", "load")) {
            String complaint = process.endedWith(2);
            assertTrue(complaint.contains("usage: load-generator"), complaint);
            assertTrue(complaint.contains("--record-size"), complaint);
        }
    }

    @Test
    void aMissingFileOfPropertiesEndsItWithNothingOnStdout() throws Exception {
        String missing = folder.resolve("missing.properties").toString();
        try (JavaProcess process = new JavaProcess(folder, LoadGenerator.class, "--topic", "load",
                "--record-size", "100", "--command-config", missing, "--seconds", "1")) {
            String complaint = process.endedWith(1);
            assertTrue(complaint.contains(missing), complaint);
        }
    }

    /** No broker listens there: with Kafka's real producer, the first send() times out. */
    @Test
    void withoutAClusterItEndsWellAndItsLastLineCountsTheFailure() throws Exception {
        Path config = Files.write(
                folder.resolve("producer.properties"), List.of("bootstrap.servers=127.0.0.1:1", "max.block.ms=300"));
        String options = "--topic load --record-size 100 --seconds 1 --paced-seconds 1 --command-config " + config;
        try (JavaProcess process = new JavaProcess(folder, LoadGenerator.class, options.split(" "))) {
            List<String> printed = process.stdout.lines().toList();
            process.endedWith(0);

            JsonNode parts = new ObjectMapper().readTree(printed.get(printed.size() - 1)).get("parts");
            assertEquals(List.of("unthrottled"), parts.findValuesAsText("part"));
            JsonNode part = parts.get(0);
            assertEquals(1, part.get("attempted").asLong());
            assertEquals(0, part.get("acknowledged").asLong());
            assertEquals(1, part.get("failures").size());
            assertTrue(part.get("failures").fieldNames().next().startsWith("TimeoutException: "), part::toString);
            assertTrue(part.get("client_metrics").isObject());
        }
    }
}
