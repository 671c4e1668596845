package io.kafkapareto.audit;

import io.kafkapareto.audit.ReplayedProducer.Arrival;
import io.kafkapareto.audit.ReplayedProducer.Outcome;
import io.kafkapareto.audit.ReplayedProducer.SentBatch;
import io.kafkapareto.audit.ReplayedProducer.Settings;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.apache.kafka.common.compress.Compression;

/**
 * Sends one producer's records again as librdkafka does, under other settings.
 *
 * <p>Each partition has a batch of its own, and each batch a request of its own. It leaves once its first record has
 * waited for {@code linger.ms}, or it is full. Records without a key go to a random partition for twice that time
 * ({@code sticky.partitioning.linger.ms}). Brokers are taken to answer at once.
 */
final class ReplayedLibrdkafka {
    private static final int BATCH_RECORDS = 10_000;  // batch.num.messages
    private static final int STICKY_LINGERS = 2;
    private static final long WAKE_UP_US = 500;  // the sending thread waits in whole milliseconds, rounded up
    private static final long SEED = 7;

    private final Settings settings;
    private final int partitions;
    private final SplittableRandom random = new SplittableRandom(SEED);
    private final Map<Integer, OpenBatch> open = new HashMap<>();
    private final List<SentBatch> batches = new ArrayList<>();
    private int sticky;
    private long stickyUntilUs = Long.MIN_VALUE;

    private ReplayedLibrdkafka(int partitions, Settings settings) {
        this.partitions = partitions;
        this.settings = settings;
    }

    /** The records that wait in a partition, and the time when they leave. */
    private static final class OpenBatch {
        private final List<StoredBatch.Sent> records = new ArrayList<>();
        private final long leavesUs;
        private long bytes;

        OpenBatch(long leavesUs) {
            this.leavesUs = leavesUs;
        }
    }

    /** Send the records, which must be in order of time, to a topic with this many partitions. */
    static Outcome send(int partitions, List<Arrival> arrivals, Settings settings) {
        return new ReplayedLibrdkafka(partitions, settings).sent(arrivals);
    }

    private Outcome sent(List<Arrival> arrivals) {
        arrivals.forEach(this::add);
        List.copyOf(open.keySet()).forEach(this::leave);
        batches.sort(Comparator.comparingLong(SentBatch::lastTimestampMs));
        return new Outcome(batches, batches.size());
    }

    private void add(Arrival arrival) {
        int partition = arrival.partition() == ReplayedProducer.ANY_PARTITION ? stickyPartition(arrival.us())
                : arrival.partition();
        int bytes = arrival.record().bytes();
        OpenBatch batch = open.get(partition);
        if (batch != null && (batch.leavesUs <= arrival.us() || batch.bytes + bytes > settings.batchSize()
                || batch.records.size() == BATCH_RECORDS)) {
            leave(partition);
        }
        long waitUs = settings.lingerMs() == 0 ? 0 : 1000L * settings.lingerMs() + WAKE_UP_US;
        batch = open.computeIfAbsent(partition, each -> new OpenBatch(arrival.us() + waitUs));
        batch.records.add(arrival.record());
        batch.bytes += bytes;
    }

    private int stickyPartition(long us) {
        if (us >= stickyUntilUs) {
            sticky = random.nextInt(partitions);
            stickyUntilUs = us + 1000L * STICKY_LINGERS * settings.lingerMs();
        }
        return sticky;
    }

    private void leave(int partition) {
        List<StoredBatch.Sent> records = open.remove(partition).records;
        long bytes = CodecTrials.bytesOfBatch(records, settings.compression());
        long plain = records.stream().mapToLong(StoredBatch.Sent::bytes).sum();
        if (bytes > plain) {  // what does not shrink is sent uncompressed
            bytes = Math.min(bytes, CodecTrials.bytesOfBatch(records, Compression.NONE));
        }
        long lastMs = records.stream().mapToLong(StoredBatch.Sent::timestampMs).max().getAsLong();
        batches.add(new SentBatch(lastMs, records.size(), (int) bytes));
    }
}
