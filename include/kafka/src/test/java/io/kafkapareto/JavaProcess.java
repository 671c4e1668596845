package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/** One of the programs in a separate process, as in the pipeline; killed at the end of the test. */
final class JavaProcess implements AutoCloseable {
    private final BufferedWriter stdin;
    final BufferedReader stdout;
    private final Process process;
    private final Path stderr;

    JavaProcess(Path folder, Class<?> program, String... arguments) throws IOException {
        stderr = folder.resolve("stderr");
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1",
                "-cp", System.getProperty("java.class.path"), program.getName()));
        command.addAll(List.of(arguments));
        process = new ProcessBuilder(command).redirectError(stderr.toFile()).start();
        stdin = process.outputWriter(StandardCharsets.UTF_8);
        stdout = process.inputReader(StandardCharsets.UTF_8);
    }

    void write(String line) throws IOException {
        stdin.write(line + "\n");
        stdin.flush();
    }

    /** Close its stdin, wait for its end, and return its status. */
    int ended() throws IOException, InterruptedException {
        stdin.close();
        assertTrue(process.waitFor(60, TimeUnit.SECONDS), "it did not end within a minute");
        return process.exitValue();
    }

    String complaint() throws IOException {
        return Files.readString(stderr);
    }

    /** Require that it ends with this status and without further output on stdout; return its stderr. */
    String endedWith(int status) throws IOException, InterruptedException {
        assertEquals(status, ended(), complaint());
        assertNull(stdout.readLine());
        return complaint();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
