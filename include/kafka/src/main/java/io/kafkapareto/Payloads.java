package io.kafkapareto;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.apache.kafka.clients.producer.ProducerRecord;

/** Records made before the load begins, so that making them costs it nothing. */
final class Payloads {
    private static final int RANDOM_VALUES = 1_000;
    private static final long RANDOM_BYTES = 32L << 20;

    private final byte[][] values;
    private final byte[][] keys;
    private int next;

    Payloads(String file, int recordSize, int keyCount) throws IOException {
        values = file == null ? randomLetters(recordSize) : Files.readAllLines(Path.of(file)).stream()
                .map(line -> line.getBytes(StandardCharsets.UTF_8)).toArray(byte[][]::new);
        if (values.length == 0) {
            throw new IOException(file + ": holds no line");
        }
        for (byte[] value : values) {
            if (value.length != recordSize) {
                throw new IOException(file + ": a line has " + value.length + " bytes instead of " + recordSize);
            }
        }
        keys = new byte[keyCount][];
        for (int key = 0; key < keyCount; key++) {
            keys[key] = ("key-" + key).getBytes(StandardCharsets.UTF_8);
        }
    }

    ProducerRecord<byte[], byte[]> next(String topic) {
        int at = next++ & Integer.MAX_VALUE;
        byte[] key = keys.length == 0 ? null : keys[at % keys.length];
        return new ProducerRecord<>(topic, key, values[at % values.length]);
    }

    private static byte[][] randomLetters(int recordSize) {
        Random random = new Random(0);
        int count = (int) Math.max(Math.min(RANDOM_VALUES, RANDOM_BYTES / recordSize), 1);
        byte[][] values = new byte[count][recordSize];
        for (byte[] value : values) {
            for (int at = 0; at < recordSize; at++) {
                value[at] = (byte) ('A' + random.nextInt(26));
            }
        }
        return values;
    }
}
