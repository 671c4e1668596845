package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Sends many requests to one JVM; no broker listens, so each load times out. */
@Timeout(60)
class LoadServerTest {
    private static final ObjectMapper JSON = new ObjectMapper();

    @TempDir
    private Path folder;
    private Path config;

    @BeforeEach
    void propertiesOfAClusterThatIsNotThere() throws Exception {
        config = folder.resolve("producer properties, ü");
        Files.write(config, List.of("bootstrap.servers=127.0.0.1:1", "max.block.ms=300"));
    }

    private JsonNode answer(JavaProcess process, String... others) throws Exception {
        List<String> options = new ArrayList<>(List.of(
                "--topic", "load", "--record-size", "100", "--seconds", "1", "--command-config", config.toString()));
        options.addAll(List.of(others));
        process.write(JSON.writeValueAsString(options));
        return JSON.readTree(process.stdout.readLine());
    }

    @Test
    void eachRequestIsAnsweredWithItsOwnCountsAndTheProcessEndsWithItsStdin() throws Exception {
        try (JavaProcess process = new JavaProcess(folder, LoadServer.class)) {
            for (int request = 0; request < 3; request++) {
                JsonNode answer = answer(process);

                assertFalse(answer.has("failure"), answer::toString);
                assertEquals(List.of("unthrottled"), answer.get("parts").findValuesAsText("part"));
                JsonNode part = answer.get("parts").get(0);
                assertEquals(1, part.get("attempted").asLong());
                assertEquals(0, part.get("acknowledged").asLong());
                assertEquals(1, part.get("failures").size());
            }
            process.endedWith(0);
        }
    }

    @Test
    void aRequestThatComesToNothingIsAnsweredWithItsCauseAndTheNextIsServed() throws Exception {
        String missing = folder.resolve("missing.properties").toString();
        try (JavaProcess process = new JavaProcess(folder, LoadServer.class)) {
            JsonNode unreadable = answer(process, "--command-config", missing);
            assertEquals("NoSuchFileException: " + missing, unreadable.get("failure").asText());
            assertFalse(unreadable.has("parts"));
            JsonNode unknown = answer(process, "--surprise", "1");
            assertTrue(unknown.get("failure").asText().contains("'--surprise'"), unknown::toString);
            Files.write(config, List.of("acks=perhaps", "bootstrap.servers=127.0.0.1:1"));
            JsonNode refused = answer(process);
            assertTrue(refused.get("failure").asText().startsWith("ConfigException: "), refused::toString);

            propertiesOfAClusterThatIsNotThere();
            assertTrue(answer(process).has("parts"));
            process.endedWith(0);
        }
    }

    @Test
    void theFirstAnswerCountsTheStartOfTheJvmAndTheNextOnlyWhatCameAfterIt() throws Exception {
        try (JavaProcess process = new JavaProcess(folder, LoadServer.class)) {
            double firstS = answer(process).get("process_cpu_s").asDouble();
            double secondS = answer(process).get("process_cpu_s").asDouble();

            assertTrue(0 < secondS && secondS < firstS, firstS + " s, then " + secondS + " s");
            process.endedWith(0);
        }
    }
}
