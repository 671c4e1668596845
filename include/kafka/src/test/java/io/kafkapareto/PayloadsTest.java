package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;
import java.util.zip.Deflater;
import java.util.zip.DeflaterOutputStream;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PayloadsTest {
    @TempDir
    private Path folder;

    private static List<ProducerRecord<byte[], byte[]>> next(Payloads payloads, int count) {
        return IntStream.range(0, count).mapToObj(each -> payloads.next("load")).toList();
    }

    private static List<String> values(List<ProducerRecord<byte[], byte[]>> records) {
        return records.stream().map(record -> text(record.value())).toList();
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static String text(byte[] bytes) {
        return new String(bytes, StandardCharsets.UTF_8);
    }

    private String file(String content) throws IOException {
        return Files.writeString(folder.resolve("payloads.txt"), content).toString();
    }

    @ParameterizedTest
    @ValueSource(ints = {1, 100, 1_024, 65_536, 10_000_000})
    void everyValueHasTheRecordSizeAndIsOfCapitalLetters(int recordSize) throws IOException {
        for (ProducerRecord<byte[], byte[]> record : next(new Payloads(null, recordSize, 0), 3)) {
            assertEquals(recordSize, record.value().length);
            assertTrue(IntStream.range(0, recordSize).map(at -> record.value()[at]).allMatch(c -> c >= 'A' && c <= 'Z'));
        }
    }

    /** Equally likely letters carry log2(26) = 4.7 bits per byte; no codec gets below this share of 8. */
    @Test
    void aBatchOfRandomLettersCompressesByTwoFifthsAndNoMore() throws IOException {
        ByteArrayOutputStream compressed = new ByteArrayOutputStream();
        try (var stream = new DeflaterOutputStream(compressed, new Deflater(Deflater.BEST_COMPRESSION))) {
            for (ProducerRecord<byte[], byte[]> record : next(new Payloads(null, 1_024, 0), 1_000)) {
                stream.write(record.value());
            }
        }
        double share = compressed.size() / (1_000 * 1_024.0);
        assertTrue(share > 4.70 / 8 && share < 0.65, "compressed to " + share);
    }

    @Test
    void noValueComesTwiceWithinWhatABatchHolds() throws IOException {
        Set<String> distinct = new HashSet<>();
        next(new Payloads(null, 1_024, 0), 8_192).forEach(record -> distinct.add(text(record.value())));

        assertEquals(8_192, distinct.size());
    }

    /** At most a hundred thousand tiny records are made, and only one that exceeds the size limit. */
    @ParameterizedTest
    @CsvSource({"1048576, 8", "8, 100000", "9437184, 1"})
    void valuesAreMadeOnceAndSentInTurn(int recordSize, int values) throws IOException {
        List<ProducerRecord<byte[], byte[]>> records = next(new Payloads(null, recordSize, 0), values + 1);

        assertSame(records.get(0).value(), records.get(values).value());
        assertTrue(IntStream.range(1, values).noneMatch(at -> records.get(at).value() == records.get(0).value()));
    }

    @Test
    void everyRunSendsTheSame() throws IOException {
        var first = next(new Payloads(null, 100, 0), 50);
        var second = next(new Payloads(null, 100, 0), 50);

        for (int at = 0; at < 50; at++) {
            assertArrayEquals(first.get(at).value(), second.get(at).value());
        }
    }

    @Test
    void withoutKeysEveryKeyIsNull() throws IOException {
        next(new Payloads(null, 10, 0), 5).forEach(record -> assertNull(record.key()));
    }

    @Test
    void keysAreAsManyAsAskedForAndComeInTurn() throws IOException {
        List<String> keys = next(new Payloads(null, 10, 3), 7).stream().map(record -> text(record.key())).toList();

        assertEquals(List.of("key-0", "key-1", "key-2", "key-0", "key-1", "key-2", "key-0"), keys);
    }

    @Test
    void linesOfAFileAreSentInTurnWithTheirBytes() throws IOException {
        Payloads payloads = new Payloads(file("aé1\nbé2\n"), 4, 0);

        assertEquals(
                List.of("aé1", "bé2", "aé1"), next(payloads, 3).stream().map(record -> text(record.value())).toList());
    }

    @ParameterizedTest
    @CsvSource({"'abcd\nabc\n', a line has 3 bytes; expected 4", "'', has no lines"})
    void linesOfAnotherSizeOrNoneAreRefused(String content, String says) throws IOException {
        String file = file(content);
        IOException refused = assertThrows(IOException.class, () -> new Payloads(file, 4, 0));

        assertEquals(file + ": " + says, refused.getMessage());
    }

    @Test
    void aFileThatIsNotThereIsRefused() {
        String missing = folder.resolve("missing").toString();

        assertThrows(IOException.class, () -> new Payloads(missing, 4, 0));
    }

    @Test
    void zerosAreRecordsOfTheSizeThatHoldNothingElse() {
        for (ProducerRecord<byte[], byte[]> record : next(Payloads.zeros(1_000, 2), 3)) {
            assertArrayEquals(new byte[1_000], record.value());
        }
        assertEquals("key-1", text(next(Payloads.zeros(1_000, 2), 2).get(1).key()));
    }

    @Test
    void sampledRecordsAreSentInTheirOrderWithKeysAndHeaders() {
        List<SampledRecords.Sampled> sample = IntStream.range(0, 5)
                .mapToObj(each -> new SampledRecords.Sampled(each, each == 3 ? null : bytes("k" + each), bytes("v" + each),
                        List.of(new RecordHeader("h", bytes("h" + each)))))
                .toList();
        List<ProducerRecord<byte[], byte[]>> sent = next(Payloads.sampled(sample), 6);

        for (int at = 0; at < 6; at++) {
            ProducerRecord<byte[], byte[]> record = sent.get(at);
            int from = at % 5;
            assertEquals("v" + from, text(record.value()));
            assertEquals(from == 3 ? null : "k" + from, record.key() == null ? null : text(record.key()));
            assertEquals("h" + from, text(record.headers().lastHeader("h").value()));
        }
    }

    @Test
    void producersShareASampleAsTheyShareTheRate() {
        Payloads sample = Payloads.sampled(IntStream.range(0, 5)
                .mapToObj(each -> new SampledRecords.Sampled(each, null, bytes("v" + each), List.of())).toList());

        assertEquals(List.of("v0", "v2", "v4", "v1"), values(next(sample.of(0, 2), 4)));
        assertEquals(List.of("v1", "v3", "v0", "v2"), values(next(sample.of(1, 2), 4)));
    }

    @Test
    void anotherProducerSendsTheSameRecordsFromWhereItIsToldOnAndDisturbsNoOther() throws IOException {
        Payloads first = new Payloads(file("a\nb\nc\n"), 1, 2);
        Payloads third = first.of(2, 3);

        assertEquals(List.of("c", "a"), next(third, 2).stream().map(record -> text(record.value())).toList());
        assertEquals(List.of("a", "b"), next(first, 2).stream().map(record -> text(record.value())).toList());
        assertEquals("key-0", text(next(third, 1).get(0).key()));
    }
}
