package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.Properties;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;

/**
 * Build record batches from rows and send them, one partition after another. For one thread.
 *
 * <p>Batches are sent when full; linger.ms has no effect.
 */
final class BatchSink implements RowSink {
    /** The largest overhead of a codec on incompressible data: framing of its blocks. */
    private static final int CODEC_BYTES = 4 << 10;

    private final BufferPool buffers;
    private final BatchSender sender;
    private final RecordBatchBuilder builder;
    private final int[] sequences;
    private volatile String closedReason = "";
    private long number;
    private int partition = -1;
    private long rowBytes;
    private long uncompressedBytes;

    BatchSink(Properties properties, String topic) throws IOException {
        this(properties, topic, Time.SYSTEM);
    }

    BatchSink(Properties properties, String topic, Time time) throws IOException {
        ProducerConfig config = new ProducerConfig(properties);
        int batchBytes = config.getInt(ProducerConfig.BATCH_SIZE_CONFIG);
        buffers = new BufferPool(batchBytes + CODEC_BYTES, config.getLong(ProducerConfig.BUFFER_MEMORY_CONFIG));
        builder = new RecordBatchBuilder(compressionOf(config), batchBytes);
        sender = new BatchSender(properties, topic, buffers, time);
        sequences = new int[sender.partitions()];
    }

    private static Compression compressionOf(ProducerConfig config) {
        return switch (config.getString(ProducerConfig.COMPRESSION_TYPE_CONFIG)) {
            case "gzip" -> Compression.gzip().level(config.getInt(ProducerConfig.COMPRESSION_GZIP_LEVEL_CONFIG)).build();
            case "lz4" -> Compression.lz4().level(config.getInt(ProducerConfig.COMPRESSION_LZ4_LEVEL_CONFIG)).build();
            case "zstd" -> Compression.zstd().level(config.getInt(ProducerConfig.COMPRESSION_ZSTD_LEVEL_CONFIG)).build();
            case "snappy" -> Compression.snappy().build();
            default -> Compression.NONE;
        };
    }

    @Override
    public void send(byte[] array, int from, int to, byte[] key, int wanted) {
        int keyBytes = key == null ? 0 : key.length;
        if (!builder.hasRoomFor(keyBytes, to - from) || wanted >= 0 && wanted != partition) {
            handOver();
        }
        if (builder.isEmpty()) {
            partition = wanted >= 0 ? wanted : (partition + 1) % sequences.length;
        }
        builder.add(array, from, to, key);
        rowBytes += keyBytes + to - from;
    }

    private void handOver() {
        if (builder.isEmpty()) {
            return;
        }
        try {
            ByteBuffer buffer = buffers.take();
            if (buffer == null) {
                closedReason = "the sender has ended";
                return;
            }
            int rows = builder.count();
            ProducerIdentity identity = sender.identity();
            uncompressedBytes += builder.filledBytes() + DefaultRecordBatch.RECORD_BATCH_OVERHEAD;
            ByteBuffer written = builder.finish(
                    buffer, System.currentTimeMillis(), identity.id(), identity.epoch(),
                    identity.isIdempotent() ? sequences[partition] : RecordBatch.NO_SEQUENCE);
            sequences[partition] = DefaultRecordBatch.incrementSequence(sequences[partition], rows);
            sender.send(number++, partition, written, rows, rowBytes);
            rowBytes = 0;
        } catch (InterruptedException error) {
            closedReason = "the reader was interrupted";
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void flush() {
        handOver();
        try {
            sender.flush();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public boolean hasFailed() {
        return !failure().isEmpty();
    }

    @Override
    public String failure() {
        return Stream.of(sender.failure(), sender.lostRows(), closedReason).filter(each -> !each.isEmpty()).findFirst()
                .orElse("");
    }

    @Override
    public boolean hasLostRows() {
        return sender.failure().isEmpty() && !sender.lostRows().isEmpty();
    }

    @Override
    public void renew() {
        Arrays.fill(sequences, 0);
        sender.renew();
    }

    @Override
    public long[] acknowledged() {
        return sender.acknowledged();
    }

    @Override
    public long acknowledgedBytes() {
        return sender.acknowledgedBytes();
    }

    @Override
    public void describe(ObjectNode described) {
        sender.metrics(uncompressedBytes).describe(described);
    }

    @Override
    public void close() {
        sender.close();
    }
}
