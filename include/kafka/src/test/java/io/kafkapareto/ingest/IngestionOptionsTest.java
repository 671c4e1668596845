package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertDoesNotThrow;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that combinations of options that could lose or duplicate rows are refused. */
class IngestionOptionsTest {
    @ParameterizedTest
    @ValueSource(strings = {
        "--path batches", "--path batches --resumable", "--resumable", "--senders fork_join_2 --producers 2",
        "--path batches --producers 2 --processes 2",
    })
    void optionsThatGoTogetherAreTaken(String options) {
        assertDoesNotThrow(() -> IngestionOptions.requireFitting(parsed(options), config("all")));
    }

    @ParameterizedTest
    @CsvSource({
        "--path batches --senders parallel_stream, all, needs --senders sequential",
        "--resumable --senders platform_threads_2, all, needs --senders sequential",
        "--resumable --producers 2, all, one producer",
        "--resumable --processes 2, all, one process",
        "--resumable, 1, needs acks=all",
        "--resumable --path batches, 0, needs acks=all",
        "--warmup-file w, all, needs --warmup-topic",
        "--senders fork_join, all, must be sequential",
        "--senders sequential_3, all, must be sequential",
        "--senders threads_2, all, must be sequential",
    })
    void othersAreRefusedWithTheRule(String options, String acks, String rule) {
        var refused = assertThrows(Refused.class, () -> IngestionOptions.requireFitting(parsed(options), config(acks)));

        assertTrue(refused.getMessage().contains(rule), refused.getMessage());
    }

    @ParameterizedTest
    @ValueSource(strings = {",", ";", "\t", "|", "B", " "})
    void aDelimiterIsOneByte(String delimiter) throws Exception {
        assertEquals(delimiter.getBytes(StandardCharsets.UTF_8)[0], IngestionOptions.delimiter(delimiting(delimiter)));
    }

    /** The low byte of ł is that of B. */
    @ParameterizedTest
    @ValueSource(strings = {"ł", "§", "::", "", "\"", "\n", "\r", "\0", "\ud83d\udc26"})
    void noOtherDelimiterIsTaken(String delimiter) {
        var refused = assertThrows(Refused.class, () -> IngestionOptions.delimiter(delimiting(delimiter)));

        String rule = "--delimiter " + delimiter + ": must be one ASCII character other than a quote or a line break";
        assertEquals(rule, refused.getMessage());
    }

    private static Namespace delimiting(String delimiter) {
        return new Namespace(Map.of("delimiter", delimiter));
    }

    private static Namespace parsed(String options) throws Exception {
        List<String> all = new ArrayList<>(List.of("--file", "f", "--topic", "t", "--command-config", "c"));
        all.addAll(List.of(options.split(" ")));
        return IngestionOptions.parser().parseArgs(all.toArray(String[]::new));
    }

    private static ProducerConfig config(String acks) {
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", "localhost:9092");
        properties.setProperty("acks", acks);
        properties.setProperty("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        properties.setProperty("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        return new ProducerConfig(properties);
    }
}
