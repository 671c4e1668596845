package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.file.Path;
import java.util.List;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the helper's protocol; other tests check its effect on real brokers. */
@Timeout(60)
class ClusterAdminTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String CONNECT =
            "{\"id\": 1, \"operation\": \"connect\", \"timeout_ms\": 300, \"bootstrap_servers\": \"%s\"%s}";

    @TempDir
    private Path folder;

    private static JsonNode answer(JavaProcess process) throws Exception {
        return JSON.readTree(process.stdout.readLine());
    }

    private static void assertError(JsonNode answer, long id, String type, String says) {
        assertEquals(id, answer.get("id").asLong());
        assertFalse(answer.has("ok"));
        assertEquals(type, answer.get("error").get("type").asText());
        assertTrue(answer.get("error").get("message").asText().contains(says), answer::toString);
    }

    @Test
    void everyRequestIsAnsweredInOneLineWithItsIdAndTheProcessEndsWithItsStdin() throws Exception {
        try (JavaProcess process = new JavaProcess(folder, ClusterAdmin.class)) {
            process.write(CONNECT.formatted("127.0.0.1:1", ""));
            process.write("{\"id\": 2, \"operation\": \"describe_cluster\", \"timeout_ms\": 300}");
            process.write("{\"id\": 4000000000, \"operation\": \"naïve\", \"timeout_ms\": 300}");

            assertEquals("{\"id\":1,\"ok\":{}}", answer(process).toString());
            assertError(answer(process), 2, "TimeoutException", "Timed out");
            assertError(answer(process), 4_000_000_000L, "IllegalArgumentException", "unknown operation \"naïve\"");
            process.endedWith(0);
        }
    }

    @Test
    void aConnectionThatCannotBeMadeIsAnErrorWithItsCauseAndAnotherMayBeTried() throws Exception {
        String missing = folder.resolve("missing.properties").toString();
        try (JavaProcess process = new JavaProcess(folder, ClusterAdmin.class)) {
            process.write(CONNECT.formatted("127.0.0.1", ""));
            assertError(answer(process), 1, "KafkaException", "Invalid url in bootstrap.servers: 127.0.0.1");
            process.write(CONNECT.formatted("127.0.0.1:1", ", \"client_config\": \"" + missing + "\""));
            assertError(answer(process), 1, "NoSuchFileException", missing);
            process.write(CONNECT.formatted("127.0.0.1:1", ", \"client_config\": null"));
            assertEquals("{\"id\":1,\"ok\":{}}", answer(process).toString());
            process.endedWith(0);
        }
    }

    @ParameterizedTest
    @ValueSource(classes = {ClusterAdmin.class, LoadServer.class})
    void aLineThatIsNoRequestEndsTheProcess(Class<?> program) throws Exception {
        try (JavaProcess process = new JavaProcess(folder, program)) {
            process.write("connect, please");

            assertNull(process.stdout.readLine());
            String complaint = process.endedWith(1);
            assertTrue(complaint.contains("JsonParseException"), complaint);
        }
    }

    @Test
    void causesAreToldOnceEach() {
        Throwable hidden = new KafkaException("Failed to create", new ConfigException("no such host"));
        Throwable repeated = new KafkaException("no such host, sorry", new ConfigException("no such host"));

        assertEquals("Failed to create: no such host", ClusterAdmin.messagesOf(hidden));
        assertEquals("no such host, sorry", ClusterAdmin.messagesOf(repeated));
        assertEquals("null", ClusterAdmin.messagesOf(new IllegalStateException()));
    }

    @Test
    void namedSettingsAreToldUnlessTheyAreSensitiveOrUnknown() throws Exception {
        Config config = new Config(List.of(
                new ConfigEntry("num.io.threads", "8"),
                new ConfigEntry("log.flush.interval.ms", null),
                new ConfigEntry("log.dirs", "/data"),
                new ConfigEntry("ssl.key.password", "hunter2", ConfigEntry.ConfigSource.STATIC_BROKER_CONFIG, true, true,
                        List.of(), ConfigEntry.ConfigType.PASSWORD, null)));
        JsonNode request = JSON.readTree("""
                {"names": ["num.io.threads", "log.flush.interval.ms", "ssl.key.password", "zookeeper.connect"]}""");

        assertEquals("{\"num.io.threads\":\"8\",\"log.flush.interval.ms\":null}",
                ClusterAdmin.namedOf(config, request).toString());
    }

    @Test
    void aMetadataVersionIsNamedByItsReleaseAndOneThatThisClientDoesNotKnowIsNumbered() {
        assertEquals("4.0", ClusterAdmin.release((short) 25));
        assertEquals("level 9999", ClusterAdmin.release((short) 9_999));
    }
}
