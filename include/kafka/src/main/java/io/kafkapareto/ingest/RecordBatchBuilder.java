package io.kafkapareto.ingest;

import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/**
 * Build record batches of format v2 directly from rows: one copy into the batch, then one pass of the codec.
 *
 * <p>All records of a batch have its timestamp, and at most the header {@link RowSink#ROW_OFFSET}. {@code batchBytes}
 * limits the size before compression, so incompressible batches fit, too. Only a single large row may exceed it.
 */
final class RecordBatchBuilder {
    /** Attributes, timestamp delta, key length of none, header count: one byte each; two lengths and the offset delta. */
    private static final int MOST_RECORD_OVERHEAD_BYTES = 4 + 3 * 5;
    private static final int NO_KEY = 1;  // -1 as a varint
    private static final byte[] HEADER_NAME = RowSink.ROW_OFFSET.getBytes(StandardCharsets.UTF_8);
    /** Beside the overhead of each record: the lengths of name and value, a byte each, name and value. */
    private static final int HEADER_BYTES = 1 + HEADER_NAME.length + 1 + Long.BYTES;

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

    /** Return whether a record of this size still fits into the batch, with its header if it has one. */
    boolean hasRoomFor(int keyBytes, int valueBytes) {
        return count == 0 || filled + MOST_RECORD_OVERHEAD_BYTES + HEADER_BYTES + keyBytes + valueBytes
                <= batchBytes - DefaultRecordBatch.RECORD_BATCH_OVERHEAD;
    }

    /**
     * Add a record; see the message format, "Record", of Kafka's documentation.
     *
     * @param key the key, or null
     * @param rowOffset the eight bytes of the header {@link RowSink#ROW_OFFSET}, or null for no header
     */
    void add(byte[] array, int from, int to, byte[] key, byte[] rowOffset) {
        int valueBytes = to - from;
        int keyBytes = key == null ? 0 : key.length;
        int headerBytes = rowOffset == null ? 0 : HEADER_BYTES;
        makeRoom(MOST_RECORD_OVERHEAD_BYTES + headerBytes + keyBytes + valueBytes);
        int bodyBytes = 1 + 1 + sizeOf(count) + (key == null ? 1 : sizeOf(keyBytes)) + keyBytes + sizeOf(valueBytes)
                + valueBytes + 1 + headerBytes;
        int at = put(bodyBytes, filled);
        records[at++] = 0;  // attributes
        records[at++] = 0;  // timestamp delta
        at = put(count, at);
        if (key == null) {
            records[at++] = NO_KEY;
        } else {
            at = put(key, put(keyBytes, at));
        }
        at = put(valueBytes, at);
        System.arraycopy(array, from, records, at, valueBytes);
        at += valueBytes;
        at = put(rowOffset == null ? 0 : 1, at);  // headers
        if (rowOffset != null) {
            at = put(HEADER_NAME, put(HEADER_NAME.length, at));
            at = put(rowOffset, put(rowOffset.length, at));
        }
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

    private int put(byte[] bytes, int from) {
        System.arraycopy(bytes, 0, records, from, bytes.length);
        return from + bytes.length;
    }

    private static int sizeOf(int number) {
        return (31 - Integer.numberOfLeadingZeros(number << 1 | 1)) / 7 + 1;
    }
}
