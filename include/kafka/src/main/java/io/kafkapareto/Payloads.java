package io.kafkapareto;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Records generated before the load starts, to keep generation out of the measurement; sent cyclically. */
final class Payloads {
    /** Larger than a batch, so no codec finds the same value twice in one batch. */
    private static final int RANDOM_BYTES = 8 << 20;
    /** Limit for tiny records, whose objects need far more heap than their bytes. */
    private static final int MAX_VALUES = 100_000;

    private final byte[][] values;
    private final byte[][] keys;
    private long sent;

    /** Without a file the values are random letters, like those of Kafka's own tool. */
    Payloads(String file, int recordSize, int keyCount) throws IOException {
        this(file == null ? randomLetters(recordSize) : lines(Path.of(file), recordSize), keys(keyCount), 0);
    }

    private Payloads(byte[][] values, byte[][] keys, long first) {
        this.values = values;
        this.keys = keys;
        sent = first;
    }

    /** Make records of zero bytes. */
    static Payloads zeros(int recordSize, int keyCount) {
        return new Payloads(new byte[1][recordSize], keys(keyCount), 0);
    }

    /** Return the same records for another producer, starting with the n-th one, counted from 0. */
    Payloads from(long first) {
        return new Payloads(values, keys, first);
    }

    ProducerRecord<byte[], byte[]> next(String topic) {
        byte[] key = keys.length == 0 ? null : keys[(int) (sent % keys.length)];
        byte[] value = values[(int) (sent % values.length)];
        sent++;
        return new ProducerRecord<>(topic, key, value);
    }

    private static byte[][] keys(int count) {
        return IntStream.range(0, count)
                .mapToObj(key -> ("key-" + key).getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
    }

    private static byte[][] lines(Path file, int recordSize) throws IOException {
        byte[][] values = Files.readAllLines(file).stream()
                .map(line -> line.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
        if (values.length == 0) {
            throw new IOException(file + ": has no lines");
        }
        for (byte[] value : values) {
            if (value.length != recordSize) {
                throw new IOException(file + ": a line has " + value.length + " bytes; expected " + recordSize);
            }
        }
        return values;
    }

    private static byte[][] randomLetters(int recordSize) {
        SplittableRandom random = new SplittableRandom(0);
        int count = Math.min(Math.max(RANDOM_BYTES / recordSize, 1), MAX_VALUES);
        byte[][] values = new byte[count][recordSize];
        for (byte[] value : values) {
            for (int at = 0; at < recordSize; at++) {
                value[at] = (byte) ('A' + random.nextInt(26));
            }
        }
        return values;
    }
}
