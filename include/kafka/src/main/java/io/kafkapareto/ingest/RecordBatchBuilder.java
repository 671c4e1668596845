package io.kafkapareto.ingest;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/**
 * Build record batches of format v2 directly from rows: one copy into the batch, then one pass of the codec.
 *
 * <p>All records of a batch have its timestamp, and no headers. {@code batchBytes} limits the size before compression,
 * so incompressible batches fit, too. Only a single large row may exceed it.
 */
final class RecordBatchBuilder {
    /** Attributes, timestamp delta, key length of none, header count: one byte each; two lengths and the offset delta. */
    private static final int MOST_RECORD_OVERHEAD_BYTES = 4 + 3 * 5;
    private static final int NO_KEY = 1;  // -1 as a varint

    private final Compression compression;
    private final int batchBytes;
    private byte[] records;
    private int filled;
    private int count;

    RecordBatchBuilder(Compression compression, int batchBytes) {
        this.compression = compression;
        this.batchBytes = batchBytes;
        records = new byte[batchBytes + MOST_RECORD_OVERHEAD_BYTES];
    }

    boolean isEmpty() {
        return count == 0;
    }

    int count() {
        return count;
    }

    int filledBytes() {
        return filled;
    }

    /** Return whether a value of this size still fits into the batch. */
    boolean hasRoomFor(int keyBytes, int valueBytes) {
        return count == 0 || filled + MOST_RECORD_OVERHEAD_BYTES + keyBytes + valueBytes
                <= batchBytes - DefaultRecordBatch.RECORD_BATCH_OVERHEAD;
    }

    /** Add a record; see the message format, "Record", of Kafka's documentation. */
    void add(byte[] array, int from, int to, byte[] key) {
        int valueBytes = to - from;
        int keyBytes = key == null ? 0 : key.length;
        makeRoom(MOST_RECORD_OVERHEAD_BYTES + keyBytes + valueBytes);
        int bodyBytes = 1 + 1 + sizeOf(count) + (key == null ? 1 : sizeOf(keyBytes)) + keyBytes + sizeOf(valueBytes)
                + valueBytes + 1;
        int at = put(bodyBytes, filled);
        records[at++] = 0;  // attributes
        records[at++] = 0;  // timestamp delta
        at = put(count, at);
        if (key == null) {
            records[at++] = NO_KEY;
        } else {
            at = put(keyBytes, at);
            System.arraycopy(key, 0, records, at, keyBytes);
            at += keyBytes;
        }
        at = put(valueBytes, at);
        System.arraycopy(array, from, records, at, valueBytes);
        at += valueBytes;
        records[at++] = 0;  // headers
        filled = at;
        count++;
    }

    /**
     * Write the batch into the buffer at its position, and start another one.
     *
     * @return the filled buffer, ready to read: the given one, or a larger one if that was too small
     */
    ByteBuffer finish(ByteBuffer buffer, long timestampMs, long producerId, short epoch, int baseSequence) {
        var stream = new ByteBufferOutputStream(buffer);
        stream.position(DefaultRecordBatch.RECORD_BATCH_OVERHEAD);
        try (OutputStream compressed = compression.wrapForOutput(stream, RecordBatch.CURRENT_MAGIC_VALUE)) {
            compressed.write(records, 0, filled);
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        ByteBuffer written = stream.buffer();
        int size = written.position();
        written.position(0);
        DefaultRecordBatch.writeHeader(
                written, 0, count - 1, size, RecordBatch.CURRENT_MAGIC_VALUE, compression.type(),
                TimestampType.CREATE_TIME, timestampMs, timestampMs, producerId, epoch, baseSequence, false, false,
                false, RecordBatch.NO_PARTITION_LEADER_EPOCH, count);
        written.position(0).limit(size);
        filled = 0;
        count = 0;
        return written;
    }

    private void makeRoom(int bytes) {
        if (filled + bytes > records.length) {
            records = Arrays.copyOf(records, filled + bytes);
        }
    }

    /** Write a non-negative number as a zigzag varint, and return its end. */
    private int put(int number, int from) {
        int left = number << 1;
        int at = from;
        while ((left & ~0x7F) != 0) {
            records[at++] = (byte) (left & 0x7F | 0x80);
            left >>>= 7;
        }
        records[at++] = (byte) left;
        return at;
    }

    private static int sizeOf(int number) {
        return (31 - Integer.numberOfLeadingZeros(number << 1 | 1)) / 7 + 1;
    }
}
