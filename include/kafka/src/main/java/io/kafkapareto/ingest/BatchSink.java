package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.DefaultRecordBatch;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;

/**
 * Build record batches from rows and send them. For one thread.
 *
 * <p>Batches are sent when full; linger.ms has no effect.
 */
final class BatchSink implements RowSink {
    /** The largest overhead of a codec on incompressible data: framing of its blocks. */
    private static final int CODEC_BYTES = 4 << 10;

    private final BufferPool buffers;
    private final BatchSender sender;
    /** One for all partitions, or one for each. */
    private final List<OpenBatch> open;
    private final int[] sequences;
    private volatile String closedReason = "";
    private long number;
    private long uncompressedBytes;

    /** {@code areKeyed}: consecutive rows go to different partitions, so each partition has an open batch. */
    BatchSink(Properties properties, String topic, boolean areKeyed) throws IOException {
        this(properties, topic, areKeyed, Time.SYSTEM);
    }

    BatchSink(Properties properties, String topic, boolean areKeyed, Time time) throws IOException {
        ProducerConfig config = new ProducerConfig(properties);
        int batchBytes = config.getInt(ProducerConfig.BATCH_SIZE_CONFIG);
        long memoryBytes = config.getLong(ProducerConfig.BUFFER_MEMORY_CONFIG);
        buffers = new BufferPool(batchBytes + CODEC_BYTES, memoryBytes);
        sender = new BatchSender(properties, topic, buffers, time);
        sequences = new int[sender.partitions()];
        int batches = areKeyed ? sequences.length : 1;
        int openBytes = areKeyed ? (int) Math.min(batchBytes, memoryBytes / batches) : batchBytes;
        Compression compression = compressionOf(config);
        open = IntStream.range(0, batches)
                .mapToObj(each -> new OpenBatch(new RecordBatchBuilder(compression, openBytes))).toList();
    }

    /** A batch that still takes rows. */
    private static final class OpenBatch {
        private final RecordBatchBuilder builder;
        private int partition = -1;
        private long rowBytes;

        OpenBatch(RecordBatchBuilder builder) {
            this.builder = builder;
        }
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
    public void send(byte[] array, int from, int to, byte[] key, byte[] rowOffset, int wanted) {
        OpenBatch batch = open.get(open.size() == 1 ? 0 : wanted);
        int keyBytes = key == null ? 0 : key.length;
        if (!batch.builder.hasRoomFor(keyBytes, to - from) || wanted >= 0 && wanted != batch.partition) {
            handOver(batch);
        }
        if (batch.builder.isEmpty()) {
            batch.partition = wanted >= 0 ? wanted : (batch.partition + 1) % sequences.length;
        }
        batch.builder.add(array, from, to, key, rowOffset);
        batch.rowBytes += keyBytes + to - from;
    }

    private void handOver(OpenBatch batch) {
        RecordBatchBuilder builder = batch.builder;
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
                    identity.isIdempotent() ? sequences[batch.partition] : RecordBatch.NO_SEQUENCE);
            sequences[batch.partition] = DefaultRecordBatch.incrementSequence(sequences[batch.partition], rows);
            sender.send(number++, batch.partition, written, rows, batch.rowBytes);
            batch.rowBytes = 0;
        } catch (InterruptedException error) {
            closedReason = "the reader was interrupted";
            Thread.currentThread().interrupt();
        }
    }

    @Override
    public void flush() {
        open.forEach(this::handOver);
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
