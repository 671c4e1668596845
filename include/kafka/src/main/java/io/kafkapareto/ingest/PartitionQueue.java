package io.kafkapareto.ingest;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Keeps the batches of one partition in order: after a failure none is sent until all that were in flight are answered,
 * and then those that failed go first, oldest first.
 */
final class PartitionQueue {
    private final List<SentBatch> inFlight = new ArrayList<>();
    private final List<SentBatch> failed = new ArrayList<>();
    private long againAtMs;

    boolean maySend() {
        return failed.isEmpty();
    }

    void sent(SentBatch batch) {
        inFlight.add(batch);
    }

    void acknowledged(SentBatch batch) {
        inFlight.remove(batch);
    }

    void failed(SentBatch batch, long againAtMs) {
        inFlight.remove(batch);
        failed.add(batch);
        this.againAtMs = againAtMs;
    }

    /** Tells whether a batch that was handed over before this one is not acknowledged yet. */
    boolean hasOlderThan(SentBatch batch) {
        return inFlight.stream().anyMatch(each -> each.number() < batch.number())
                || failed.stream().anyMatch(each -> each.number() < batch.number());
    }

    /** Returns what is to be sent again now, the newest first; nothing before its time. */
    List<SentBatch> takeFailed(long nowMs) {
        if (failed.isEmpty() || !inFlight.isEmpty() || nowMs < againAtMs) {
            return List.of();
        }
        List<SentBatch> again = new ArrayList<>(failed);
        again.sort(Comparator.comparingLong(SentBatch::number).reversed());
        failed.clear();
        return again;
    }
}
