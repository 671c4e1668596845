package io.kafkapareto;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.IntStream;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.header.Header;

/** Records made or read before the load starts, to keep that out of the measurement; sent cyclically. */
final class Payloads {
    /** Larger than a batch, so no codec finds the same value twice in one batch. */
    private static final int RANDOM_BYTES = 8 << 20;
    /** Limit for tiny records, whose objects need far more heap than their bytes. */
    private static final int MAX_VALUES = 100_000;

    private final byte[][] values;
    private final byte[][] keys;
    /** One list for each sampled record; no list for made ones. */
    private final List<List<Header>> headers;
    private final Arrivals arrivals;
    private final int step;
    private long next;

    /** Without a file the values are random letters, like those of Kafka's own tool. */
    Payloads(String file, int recordSize, int keyCount) throws IOException {
        this(file == null ? randomLetters(recordSize) : lines(Path.of(file), recordSize), keys(keyCount),
                List.of(), Arrivals.constant(), 0, 1);
    }

    private Payloads(
            byte[][] values, byte[][] keys, List<List<Header>> headers, Arrivals arrivals, long first, int step) {
        this.values = values;
        this.keys = keys;
        this.headers = headers;
        this.arrivals = arrivals;
        this.step = step;
        next = first;
    }

    /** Send sampled records in their order, because codecs gain from similar neighbours. */
    static Payloads sampled(List<SampledRecords.Sampled> records) {
        return new Payloads(
                records.stream().map(SampledRecords.Sampled::value).toArray(byte[][]::new),
                records.stream().map(SampledRecords.Sampled::key).toArray(byte[][]::new),
                records.stream().map(SampledRecords.Sampled::headers).toList(),
                Arrivals.recorded(records.stream().mapToLong(SampledRecords.Sampled::timestampMs)), 0, 1);
    }

    /** Make records of zero bytes. */
    static Payloads zeros(int recordSize, int keyCount) {
        return new Payloads(new byte[1][recordSize], keys(keyCount), List.of(), Arrivals.constant(), 0, 1);
    }

    /**
     * Return the records of one of several producers, counted from 0: its share of sampled ones; of others all, from its
     * own place on.
     */
    Payloads of(int producer, int producers) {
        return new Payloads(values, keys, headers, arrivals, producer, headers.isEmpty() ? 1 : producers);
    }

    ProducerRecord<byte[], byte[]> next(String topic) {
        byte[] key = keys.length == 0 ? null : keys[(int) (next % keys.length)];
        int place = (int) (next % values.length);
        next += step;
        return new ProducerRecord<>(topic, null, key, values[place], headers.isEmpty() ? null : headers.get(place));
    }

    /** Return the inter-arrival times of sampled records; constant ones for others. */
    Arrivals arrivals() {
        return arrivals;
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
