package io.kafkapareto.ingest;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Keeps the batches of one partition in order: after a failure none is sent until all that were in flight are answered,
 * and then those that failed go first, oldest first.
 *
 * <p>The first batch goes alone until it is stored: a broker that knows nothing of a producer takes any sequence as its
 * first. Of two in flight it might take the second, and refuse the first when that is sent again.
 */
final class PartitionQueue {
    private final List<SentBatch> inFlight = new ArrayList<>();
    private final List<SentBatch> failed = new ArrayList<>();
    private long againAtMs;
    private boolean hasStored;

    boolean maySend() {
        return failed.isEmpty() && (hasStored || inFlight.isEmpty());
    }

    void sent(SentBatch batch) {
        inFlight.add(batch);
    }

    void stored(SentBatch batch) {
        inFlight.remove(batch);
        hasStored = true;
    }

    /** Forgets a batch that is refused for good. */
    void refused(SentBatch batch) {
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
