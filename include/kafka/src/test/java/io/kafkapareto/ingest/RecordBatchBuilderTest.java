package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.Random;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MutableRecordBatch;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.Utils;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests with Kafka's classes that the batches equal those of the client. */
class RecordBatchBuilderTest {
    private static final int BATCH_BYTES = 8_192;

    @ParameterizedTest
    @ValueSource(strings = {"none", "gzip", "snappy", "lz4", "zstd"})
    void everyRecordIsReadBackWithItsPlace(String codec) {
        var builder = new RecordBatchBuilder(Compression.of(codec).build(), BATCH_BYTES);
        Random random = new Random(3);
        for (int batch = 0; batch < 3; batch++) {
            List<byte[]> values = new ArrayList<>();
            List<byte[]> keys = new ArrayList<>();
            List<byte[]> rowOffsets = new ArrayList<>();
            while (true) {
                byte[] value = "x".repeat(random.nextInt(200)).getBytes(StandardCharsets.US_ASCII);
                byte[] key = random.nextBoolean() ? Partitioning.bytesOf(values.size()) : null;
                byte[] rowOffset = random.nextBoolean() ? Partitioning.bytesOf(random.nextLong()) : null;
                if (!builder.hasRoomFor(key == null ? 0 : key.length, value.length)) {
                    break;
                }
                builder.add(value, 0, value.length, key, rowOffset);
                values.add(value);
                keys.add(key);
                rowOffsets.add(rowOffset);
            }
            ByteBuffer written = builder.finish(ByteBuffer.allocateDirect(BATCH_BYTES + 4_096), 123L, 42L, (short) 1, 7);

            assertTrue(written.remaining() <= BATCH_BYTES + 4_096);
            MutableRecordBatch read = only(written);
            read.ensureValid();
            assertEquals(values.size(), read.countOrNull());
            assertEquals(List.of(42L, 7L, 123L), List.of(read.producerId(), (long) read.baseSequence(), read.maxTimestamp()));
            assertEquals(codec, read.compressionType().name);
            Iterator<Record> records = read.iterator();
            for (int place = 0; place < values.size(); place++) {
                Record record = records.next();
                assertEquals(place, record.offset());
                assertArrayEquals(values.get(place), Utils.toArray(record.value()));
                if (keys.get(place) == null) {
                    assertNull(record.key());
                } else {
                    assertArrayEquals(keys.get(place), Utils.toArray(record.key()));
                }
                Header[] expected = rowOffsets.get(place) == null ? new Header[0]
                        : new Header[] {new RecordHeader("row_offset", rowOffsets.get(place))};
                assertArrayEquals(expected, record.headers());
            }
            assertFalse(records.hasNext());
            assertTrue(builder.isEmpty());
        }
    }

    @Test
    void aRowThatIsLargerThanABatchHasOneOfItsOwn() {
        var builder = new RecordBatchBuilder(Compression.NONE, BATCH_BYTES);
        byte[] value = new byte[3 * BATCH_BYTES];

        assertTrue(builder.hasRoomFor(0, value.length));
        builder.add(value, 0, value.length, null, null);
        assertFalse(builder.hasRoomFor(0, 1));
        MutableRecordBatch read = only(builder.finish(ByteBuffer.allocateDirect(BATCH_BYTES), 1L, -1L, (short) -1, -1));

        read.ensureValid();
        assertEquals(value.length, read.iterator().next().valueSize());
    }

    private static MutableRecordBatch only(ByteBuffer written) {
        Iterator<MutableRecordBatch> batches = MemoryRecords.readableRecords(written).batches().iterator();
        MutableRecordBatch found = batches.next();
        assertFalse(batches.hasNext());
        return found;
    }
}
