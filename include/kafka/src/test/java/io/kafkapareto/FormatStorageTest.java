package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

@Timeout(60)
class FormatStorageTest {
    private static final String CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg";

    @TempDir
    private Path folder;

    private String node(int id, String... more) throws Exception {
        Path config = folder.resolve("node-" + id + ".properties");
        Files.write(config, List.of("process.roles=broker,controller", "node.id=" + id,
                "controller.quorum.voters=1@127.0.0.1:19191", "controller.listener.names=CONTROLLER",
                "listeners=PLAINTEXT://127.0.0.1:19091,CONTROLLER://127.0.0.1:19191", "log.dirs=" + storage(id)));
        Files.write(config, List.of(more), StandardOpenOption.APPEND);
        return config.toString();
    }

    private Path storage(int id) {
        return folder.resolve("storage-" + id);
    }

    @Test
    void everyNodeIsFormattedForTheClusterAndASecondTimeDoesNoHarm() throws Exception {
        String[] arguments = {CLUSTER, node(1), node(1)};
        try (JavaProcess process = new JavaProcess(folder, FormatStorage.class, arguments)) {
            assertEquals(0, process.ended(), process.complaint());
        }
        List<String> written = Files.readAllLines(storage(1).resolve("meta.properties"));
        assertTrue(written.contains("cluster.id=" + CLUSTER), written::toString);
        assertTrue(written.contains("node.id=1"), written::toString);
    }

    @Test
    void theFirstNodeThatCannotBeFormattedEndsIt() throws Exception {
        String broken = node(1, "log.dirs=" + Files.writeString(folder.resolve("file"), "in the way"));
        String next = folder.resolve("never-read.properties").toString();
        try (JavaProcess process = new JavaProcess(folder, FormatStorage.class, CLUSTER, broken, next)) {
            assertNotEquals(0, process.ended());
            assertFalse(process.complaint().contains("never-read"), process.complaint());
        }
    }
}
