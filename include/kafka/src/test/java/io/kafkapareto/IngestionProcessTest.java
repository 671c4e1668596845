package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.kafkapareto.ingest.Ingestion;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the ingestion as a command: it refuses an unusable file in one line, with the exit code for bad input. */
@Timeout(60)
class IngestionProcessTest {
    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "a,b|has a header but no rows",
        "a,b\\n1;2\\n3;4|line 2: number of fields differs from the header: '1;2' (2 of the first 2 rows are malformed",
    })
    void aFileThatIsNoSuchCsvIsRefused(String text, String says) throws Exception {
        Path file = folder.resolve("rows.csv");
        Files.writeString(file, text.replace("\\n", "\n"), StandardCharsets.UTF_8);

        refused(file, says);
    }

    @Test
    void whatIsNoFileIsRefused() throws Exception {
        refused(folder.resolve("none.csv"), "file not found");
        refused(folder, "not a file");
    }

    private void refused(Path file, String says) throws Exception {
        Path config = Files.write(folder.resolve("producer.properties"), List.of("bootstrap.servers=127.0.0.1:1"));
        try (JavaProcess process = new JavaProcess(
                folder, Ingestion.class, "--file", file.toString(), "--topic", "rows", "--command-config",
                config.toString())) {
            String complaint = process.endedWith(65);
            assertTrue(complaint.startsWith(file + ": " + says), complaint);
            assertEquals(1, complaint.lines().count(), complaint);
        }
    }
}
