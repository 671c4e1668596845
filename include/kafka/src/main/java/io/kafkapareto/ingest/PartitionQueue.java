package io.kafkapareto.ingest;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Keep the batches of one partition in order. After a failure none is sent until all that were in flight are answered;
 * then those that failed go first, oldest first.
 *
 * <p>A broker remembers a producer's last five batches of a partition, and after a restart only the last one. It answers
 * an older one that is sent again as out of order. Three rules follow:
 *
 * <ul>
 * <li>The first batch goes alone until it is stored: a broker that knows nothing of a producer takes any sequence as its
 * first. Of two in flight it might take the second, and refuse the first when that is sent again.
 * <li>Batches go to another node only when none is in flight. A new leader that has replicated a batch which the old one
 * never answered would take so many younger ones that it no longer remembers that batch.
 * <li>A batch that is out of order, though everything before it is stored, is in doubt until a younger one is answered. A
 * broker takes sequences without a gap, so that a younger batch can only be stored behind this one. If a younger one fails,
 * or is out of order as well and the last that was sent, all are sent again: another leader may have none of them. After
 * three rounds of that the leader has lost rows that were acknowledged.
 * </ul>
 */
final class PartitionQueue {
    private static final int NONE = -1;
    private static final int MOST_ROUNDS = 3;

    private final List<SentBatch> inFlight = new ArrayList<>();
    private final List<SentBatch> failed = new ArrayList<>();
    private final List<SentBatch> inDoubt = new ArrayList<>();
    private int nodeId;
    private long againAtMs;
    private long youngestSent = NONE;
    private long youngestStored = NONE;
    private int rounds;
    private boolean isLost;

    /** Return whether a batch may go to this node now; while one is in doubt, only a batch that was sent before. */
    boolean maySend(SentBatch batch, int toNodeId) {
        return failed.isEmpty() && (inDoubt.isEmpty() || batch.number() <= youngestSent)
                && (inFlight.isEmpty() || youngestStored != NONE && nodeId == toNodeId);
    }

    void sent(SentBatch batch, int toNodeId) {
        inFlight.add(batch);
        nodeId = toNodeId;
        youngestSent = Math.max(youngestSent, batch.number());
    }

    /** Take a batch as stored, and return it with those that were in doubt and older. */
    List<SentBatch> stored(SentBatch batch) {
        inFlight.remove(batch);
        youngestStored = Math.max(youngestStored, batch.number());
        rounds = 0;
        List<SentBatch> found = new ArrayList<>(inDoubt);
        found.removeIf(each -> each.number() > batch.number());
        inDoubt.removeAll(found);
        found.add(batch);
        return found;
    }

    /** Forget a batch that is refused for good. */
    void refused(SentBatch batch) {
        inFlight.remove(batch);
    }

    /** Take that a batch is to be sent again, and with it those in doubt. */
    void failed(SentBatch batch, long againAtMs) {
        inFlight.remove(batch);
        failed.add(batch);
        failed.addAll(inDoubt);
        inDoubt.clear();
        this.againAtMs = againAtMs;
    }

    /** Keep a batch that is out of order until the answer to a younger one settles it, or it is sent again. */
    void doubted(SentBatch batch, long againAtMs) {
        if (batch.number() == youngestSent) {
            rounds++;
            isLost = rounds == MOST_ROUNDS;
            failed(batch, againAtMs);
        } else {
            inFlight.remove(batch);
            inDoubt.add(batch);
        }
    }

    /** Return whether the leader has lost rows that were acknowledged; it takes no more batches of this producer. */
    boolean isLost() {
        return isLost;
    }

    /** Return whether a batch that was handed over before this one was refused, or is not answered yet. */
    boolean hasOlderThan(SentBatch batch) {
        return inFlight.stream().anyMatch(each -> each.number() < batch.number())
                || failed.stream().anyMatch(each -> each.number() < batch.number());
    }

    /** Return whether a younger batch is stored, and so this one. */
    boolean hasStoredYoungerThan(SentBatch batch) {
        return batch.number() < youngestStored;
    }

    /** Return what is to be sent again now, the newest first; nothing before its time. */
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
