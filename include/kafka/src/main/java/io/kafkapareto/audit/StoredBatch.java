package io.kafkapareto.audit;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.CloseableIterator;

/**
 * A record batch as a broker stores it, with its records.
 *
 * @param bytes its size on disk, compressed if the producer or the broker compressed it
 * @param codec the name of its codec; {@code none} without one
 * @param producerId the id of an idempotent producer; {@link RecordBatch#NO_PRODUCER_ID} for another one
 */
record StoredBatch(
        int partition, long offset, int bytes, String codec, TimestampType timestampType, long producerId, short producerEpoch,
        boolean isTransactional, List<Sent> records) {

    /**
     * A record as it was sent.
     *
     * @param timestampMs its own time; the broker's for a topic with {@link TimestampType#LOG_APPEND_TIME}
     * @param key null for none, like {@code value}
     */
    record Sent(long timestampMs, byte[] key, byte[] value, Header[] headers) {
        int keyBytes() {
            return key == null ? 0 : key.length;
        }

        int valueBytes() {
            return value == null ? 0 : value.length;
        }

        int headerBytes() {
            int bytes = 0;
            for (Header header : headers) {
                bytes += header.key().length() + (header.value() == null ? 0 : header.value().length);
            }
            return bytes;
        }

        int bytes() {
            return keyBytes() + valueBytes() + headerBytes();
        }
    }

    static StoredBatch of(int partition, RecordBatch batch, BufferSupplier decompression) {
        List<Sent> records = new ArrayList<>();
        try (CloseableIterator<Record> each = batch.streamingIterator(decompression)) {
            while (each.hasNext()) {
                Record record = each.next();
                records.add(new Sent(record.timestamp(), copyOf(record.key()), copyOf(record.value()), record.headers()));
            }
        }
        return new StoredBatch(partition, batch.baseOffset(), batch.sizeInBytes(), batch.compressionType().name, batch.timestampType(),
                batch.producerId(), batch.producerEpoch(), batch.isTransactional(), records);
    }

    long firstTimestampMs() {
        return records.get(0).timestampMs();
    }

    long lastTimestampMs() {
        return records.stream().mapToLong(Sent::timestampMs).max().getAsLong();
    }

    /** Return the bytes of keys, values and headers. */
    long payloadBytes() {
        return records.stream().mapToLong(Sent::bytes).sum();
    }

    private static byte[] copyOf(ByteBuffer buffer) {
        if (buffer == null) {
            return null;
        }
        byte[] copy = new byte[buffer.remaining()];
        buffer.duplicate().get(copy);
        return copy;
    }
}
