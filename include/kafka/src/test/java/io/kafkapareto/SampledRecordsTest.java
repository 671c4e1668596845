package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import io.kafkapareto.SampledRecords.Sampled;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class SampledRecordsTest {
    private static final byte[] NOT_TEXT = {(byte) 0xff, 0, (byte) 0xc0};

    @TempDir
    private Path folder;

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    @Test
    void whatIsWrittenIsReadBackByteByByte() throws IOException {
        Path file = folder.resolve("sample.jsonl");
        SampledRecords.write(file, List.of(
                new Sampled(7, bytes("k"), bytes("line\nend\u2028é \"quoted\""), List.of(
                        new RecordHeader("trace", NOT_TEXT), new RecordHeader("none", null))),
                new Sampled(8, NOT_TEXT, NOT_TEXT, List.of()),
                new Sampled(9, null, null, List.of())), 1_000);
        List<Sampled> read = SampledRecords.read(file);

        assertEquals(3, Files.readAllLines(file).size());
        assertEquals(List.of(7L, 8L, 9L), read.stream().map(Sampled::timestampMs).toList());
        assertArrayEquals(bytes("line\nend\u2028é \"quoted\""), read.get(0).value());
        assertArrayEquals(NOT_TEXT, read.get(0).headers().get(0).value());
        assertNull(read.get(0).headers().get(1).value());
        assertArrayEquals(NOT_TEXT, read.get(1).key());
        assertArrayEquals(NOT_TEXT, read.get(1).value());
        assertNull(read.get(2).key());
        assertNull(read.get(2).value());
    }

    @Test
    void textIsReadable() throws IOException {
        Path file = folder.resolve("sample.jsonl");
        SampledRecords.write(file, List.of(new Sampled(7, bytes("k"), bytes("{\"id\": 1}"), List.of())), 1_000);

        assertEquals("{\"timestamp_ms\":7,\"key\":\"k\",\"value\":\"{\\\"id\\\": 1}\"}\n", Files.readString(file));
    }

    @Test
    void theLatestRecordsThatFitAreWritten() throws IOException {
        Path file = folder.resolve("sample.jsonl");
        List<Sampled> records = List.of(new Sampled(1, null, bytes("a"), List.of()), new Sampled(2, null, bytes("b"), List.of()),
                new Sampled(3, null, bytes("\u0001"), List.of())); // the last line has 36 bytes, the others 31
        SampledRecords.write(file, records, 36 + 31 + 30);

        assertEquals(36 + 31, Files.size(file));
        assertEquals(List.of(2L, 3L), SampledRecords.read(file).stream().map(Sampled::timestampMs).toList());
    }

    @Test
    void aFileWithoutRecordsIsRefused() throws IOException {
        Path empty = Files.createFile(folder.resolve("empty.jsonl"));

        assertThrows(IOException.class, () -> SampledRecords.read(empty));
    }
}
