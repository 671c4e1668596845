package io.kafkapareto.audit;

import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.MemoryRecordsBuilder;

/** Compress sampled records with each of Kafka's codecs, in batches as stored and in larger ones. */
final class CodecTrials {
    private static final List<String> CODECS = List.of("gzip", "snappy", "lz4", "zstd");
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();

    /**
     * Result of one codec at one batch size.
     *
     * @param batchBytes the size of a batch before compression; 0 for batches as stored
     * @param uncompressedBytes size of the batches without compression, headers included
     * @param cpuNsPerByte the compressing thread's CPU time per uncompressed byte
     */
    record Trial(String codec, int batchBytes, long uncompressedBytes, long bytes, double cpuNsPerByte) {}

    private CodecTrials() {}

    /** Try all codecs with at most this many bytes of records for each; sizes that they cannot fill twice are omitted. */
    static List<Trial> of(List<StoredBatch> batches, List<Integer> batchBytes, long bytes) {
        List<Trial> trials = new ArrayList<>();
        List<List<StoredBatch.Sent>> stored = new ArrayList<>();
        long taken = 0;
        for (StoredBatch batch : batches) {
            if (taken >= bytes) {
                break;
            }
            stored.add(batch.records());
            taken += batch.payloadBytes();
        }
        tryAll(stored, 0, trials);
        for (int size : batchBytes) {
            List<List<StoredBatch.Sent>> larger = regrouped(batches, size, bytes);
            if (larger.size() > 1) {
                tryAll(larger, size, trials);
            }
        }
        return trials;
    }

    private static void tryAll(List<List<StoredBatch.Sent>> groups, int batchBytes, List<Trial> trials) {
        long uncompressed = bytesOf(groups, Compression.NONE);
        for (String codec : CODECS) {
            Compression compression = Compression.of(codec).build();
            bytesOf(groups.subList(0, Math.min(groups.size(), 2)), compression); // loads the native library
            long beganNs = THREADS.getCurrentThreadCpuTime();
            long bytes = bytesOf(groups, compression);
            double cpuNs = THREADS.getCurrentThreadCpuTime() - beganNs;
            trials.add(new Trial(codec, batchBytes, uncompressed, bytes, cpuNs / uncompressed));
        }
    }

    /** Join the records of each partition, in their order, into groups of this size before compression. */
    private static List<List<StoredBatch.Sent>> regrouped(List<StoredBatch> batches, int batchBytes, long bytes) {
        Map<Integer, List<StoredBatch.Sent>> open = new LinkedHashMap<>();
        Map<Integer, Integer> filled = new LinkedHashMap<>();
        List<List<StoredBatch.Sent>> full = new ArrayList<>();
        long taken = 0;
        for (StoredBatch batch : batches) {
            for (StoredBatch.Sent record : batch.records()) {
                List<StoredBatch.Sent> group = open.computeIfAbsent(batch.partition(), each -> new ArrayList<>());
                group.add(record);
                if (filled.merge(batch.partition(), record.bytes(), Integer::sum) >= batchBytes) {
                    full.add(group);
                    open.remove(batch.partition());
                    taken += filled.remove(batch.partition());
                    if (taken >= bytes) {
                        return full;
                    }
                }
            }
        }
        return full;
    }

    private static long bytesOf(List<List<StoredBatch.Sent>> groups, Compression compression) {
        return groups.stream().mapToLong(each -> bytesOfBatch(each, compression)).sum();
    }

    /** Return the size of a batch of these records. */
    static long bytesOfBatch(List<StoredBatch.Sent> records, Compression compression) {
        long bytes = records.stream().mapToLong(StoredBatch.Sent::bytes).sum();
        try (MemoryRecordsBuilder builder = MemoryRecords.builder(
                ByteBuffer.allocate((int) bytes + 1024), compression, TimestampType.CREATE_TIME, 0)) {
            records.forEach(each -> builder.append(each.timestampMs(), each.key(), each.value(), each.headers()));
            return builder.build().sizeInBytes();
        }
    }
}
