package io.kafkapareto.ingest;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;

/**
 * Keep the batches of one partition in order. After a failure no batch is sent until all in flight are answered; then
 * the failed ones go first, oldest first.
 *
 * <p>A broker remembers a producer's last five batches of a partition, after a restart only the last one. It rejects an
 * older one that is sent again as out of order. Three rules follow:
 *
 * <ul>
 * <li>The first batch is sent alone until it is stored: a broker accepts any sequence as the first of an unknown
 * producer. With two in flight it might store the second, and then refuse the first.
 * <li>Batches go to another node only when none is in flight. A new leader may have replicated an unanswered batch, and
 * would forget it after storing younger ones.
 * <li>A batch rejected as out of order, with all earlier ones stored, is in doubt until a younger one is answered. A
 * broker stores sequences without gaps, so a stored younger batch proves that this one is stored. If a younger one
 * fails, or the last one sent is out of order, too, all are sent again: another leader may have none of them. After
 * three such rounds the leader has lost acknowledged rows.
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

    /** Mark a batch as stored, and return it with the older ones in doubt. */
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

    /** Remove a permanently refused batch. */
    void refused(SentBatch batch) {
        inFlight.remove(batch);
    }

    /** Schedule a batch and those in doubt to be sent again. */
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

    /** Return whether the leader has lost acknowledged rows; it accepts no more batches of this producer. */
    boolean isLost() {
        return isLost;
    }

    /** Return whether a batch submitted earlier was refused or is not answered yet. */
    boolean hasOlderThan(SentBatch batch) {
        return inFlight.stream().anyMatch(each -> each.number() < batch.number())
                || failed.stream().anyMatch(each -> each.number() < batch.number());
    }

    /** Return whether a younger batch is stored, which proves that this one is. */
    boolean hasStoredYoungerThan(SentBatch batch) {
        return batch.number() < youngestStored;
    }

    /** Return the batches due to be sent again, newest first. */
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
