package io.kafkapareto.audit;

import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.MetadataResponse.PartitionMetadata;

/** Sends the sampled records of a topic's producers again, under other settings. */
final class TopicModel {
    /** A client whose producers fill batches in their own way. */
    enum Client { JAVA, LIBRDKAFKA }

    /** The client and the settings that explain the stored batches best. */
    record Fit(Client client, int batchSize, int lingerMs) {}

    /** Linger times that a producer may have, in milliseconds. */
    private static final List<Integer> LINGERS_MS = List.of(0, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000);

    private static final int LIBRDKAFKA_BATCH_SIZE = 1_000_000;

    /** Batch sizes that a producer of Java may have; the first is its default. */
    private static final List<Integer> BATCH_SIZES = List.of(
            16384, 32768, 65536, 131072, 262144, 524288, 1048576, 2097152, 4194304);

    private static final long MAX_DISORDER_MS = 1000;

    /** A run of records in one partition shorter than this part of a batch shows that someone else chose it. */
    private static final double SHORTEST_RUN = 0.5;

    private final Map<Long, List<StoredBatch>> batchesOfProducer = new LinkedHashMap<>();
    private final List<StoredBatch> batches;
    private final TopicDescription topic;
    private int replays;

    TopicModel(TopicDescription topic, List<StoredBatch> batches) {
        this.topic = topic;
        this.batches = batches;
        batches.forEach(each -> batchesOfProducer.computeIfAbsent(each.producerId(), id -> new ArrayList<>()).add(each));
    }

    /** Return why these batches do not tell when their records were sent, or by whom; empty if they do. */
    String fault() {
        if (batches.stream().anyMatch(each -> each.timestampType() == TimestampType.LOG_APPEND_TIME)) {
            return "the records have the broker's times (message.timestamp.type=LogAppendTime), not the producers'";
        }
        if (batches.stream().anyMatch(each -> each.firstTimestampMs() == RecordBatch.NO_TIMESTAMP)) {
            return "records have no time";
        }
        if (batchesOfProducer.containsKey(RecordBatch.NO_PRODUCER_ID)) {
            return "producers without idempotence send no ID, so their batches are not separable";
        }
        if (hasEventTimes()) {
            return "the records' times are not those of sending: a producer's run backwards";
        }
        return "";
    }

    /** Return whether a producer's records in a partition run backwards by more than threads of one producer do. */
    boolean hasEventTimes() {
        Map<List<Long>, Long> newest = new HashMap<>();
        for (StoredBatch batch : batches.stream().sorted(Comparator.comparingLong(StoredBatch::offset)).toList()) {
            for (StoredBatch.Sent record : batch.records()) {
                long before = newest.merge(
                        List.of(batch.producerId(), (long) batch.partition()), record.timestampMs(), Math::max);
                if (record.timestampMs() < before - MAX_DISORDER_MS) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Return the smallest batch size that explains the largest batch: at least the client's default. */
    private int batchSize(Client client) {
        if (client == Client.LIBRDKAFKA) {
            return LIBRDKAFKA_BATCH_SIZE;
        }
        int largest = batches.stream().filter(each -> each.records().size() > 1).mapToInt(StoredBatch::bytes).max()
                .orElse(0);
        return BATCH_SIZES.stream().filter(each -> each >= largest).findFirst()
                .orElse(BATCH_SIZES.get(BATCH_SIZES.size() - 1));
    }

    /**
     * Return the client and the settings whose batches are most like the stored ones.
     *
     * <p>The linger time is the one whose number of batches is closest; only between two clients does the distribution
     * of their records count, too, because a busy machine stretches some batches. With the producer's own partitioner,
     * records without a key stay in a partition until a batch is full in Java alone.
     */
    Fit fit(Codec codec) throws InterruptedException {
        Candidate java = closest(Client.JAVA, codec);
        if (batchesOfProducer.values().stream().allMatch(this::isPartitionFree)) {
            return java.fit();
        }
        Candidate librdkafka = closest(Client.LIBRDKAFKA, codec);
        return librdkafka.away() + librdkafka.distance() < java.away() + java.distance() ? librdkafka.fit() : java.fit();
    }

    /**
     * A client and its settings, and how far their batches are from the stored ones.
     *
     * @param away the logarithm of the ratio of their numbers
     * @param distance that of the distributions of their records
     */
    private record Candidate(Fit fit, double away, double distance) {}

    private Candidate closest(Client client, Codec codec) throws InterruptedException {
        int[] stored = batches.stream().mapToInt(each -> each.records().size()).sorted().toArray();
        Candidate best = null;
        for (int lingerMs : LINGERS_MS) {
            Fit fit = new Fit(client, batchSize(client), lingerMs);
            int[] sent = send(fit, codec).stream().flatMap(each -> each.batches().stream())
                    .mapToInt(ReplayedProducer.SentBatch::records).sorted().toArray();
            double away = Math.abs(Math.log((double) sent.length / stored.length));
            if (best == null || away < best.away()) {
                best = new Candidate(fit, away, distance(stored, sent));
            }
        }
        return best;
    }

    /** Return the largest difference between two distributions (Kolmogorov and Smirnov), each in ascending order. */
    static double distance(int[] one, int[] other) {
        double largest = 0;
        int at = 0;
        int otherAt = 0;
        while (at < one.length && otherAt < other.length) {
            int value = Math.min(one[at], other[otherAt]);
            while (at < one.length && one[at] == value) {
                at++;
            }
            while (otherAt < other.length && other[otherAt] == value) {
                otherAt++;
            }
            largest = Math.max(largest, Math.abs((double) at / one.length - (double) otherAt / other.length));
        }
        return largest;
    }

    /** Return the producers' IDs, in the order of {@link #send}. */
    List<Long> producers() {
        return List.copyOf(batchesOfProducer.keySet());
    }

    /** Return what each producer would have sent. */
    List<ReplayedProducer.Outcome> send(Fit fit, Codec codec) throws InterruptedException {
        var settings = new ReplayedProducer.Settings(fit.batchSize(), fit.lingerMs(), codec.compression());
        List<ReplayedProducer.Outcome> outcomes = new ArrayList<>();
        for (List<StoredBatch> ofProducer : batchesOfProducer.values()) {
            if (fit.client() == Client.LIBRDKAFKA) {
                outcomes.add(ReplayedLibrdkafka.send(topic.partitions().size(), arrivals(ofProducer, true), settings));
            } else {
                String name = topic.name() + "." + replays++;
                List<ReplayedProducer.Arrival> arrivals = arrivals(ofProducer, isPartitionFree(ofProducer));
                outcomes.add(ReplayedProducer.send(name, leaders(name), arrivals, settings));
            }
        }
        return outcomes;
    }

    /**
     * Return the records in order of time; those of one millisecond spread evenly over it.
     *
     * @param isFree whether the client chooses the partition of records without a key
     */
    private List<ReplayedProducer.Arrival> arrivals(List<StoredBatch> ofProducer, boolean isFree) {
        List<ReplayedProducer.Arrival> arrivals = new ArrayList<>();
        for (StoredBatch batch : ofProducer) {
            for (StoredBatch.Sent record : batch.records()) {
                int partition = isFree && record.key() == null ? ReplayedProducer.ANY_PARTITION : batch.partition();
                arrivals.add(new ReplayedProducer.Arrival(record.timestampMs() * 1000, partition, record));
            }
        }
        arrivals.sort(Comparator.comparingLong(ReplayedProducer.Arrival::us));
        for (int from = 0; from < arrivals.size();) {
            int to = from;
            while (to < arrivals.size() && arrivals.get(to).us() == arrivals.get(from).us()) {
                to++;
            }
            for (int place = from + 1; place < to; place++) {
                ReplayedProducer.Arrival each = arrivals.get(place);
                long us = each.us() + 1000L * (place - from) / (to - from);
                arrivals.set(place, new ReplayedProducer.Arrival(us, each.partition(), each.record()));
            }
            from = to;
        }
        return arrivals;
    }

    /** Return whether records without a key stay in one partition for long, as the producer's own partitioner does. */
    private boolean isPartitionFree(List<StoredBatch> ofProducer) {
        long bytes = 0;
        int runs = 0;
        int partition = -1;
        for (StoredBatch batch : ofProducer) {
            bytes += batch.bytes();
            runs += batch.partition() == partition ? 0 : 1;
            partition = batch.partition();
        }
        return runs - 1 <= bytes / (SHORTEST_RUN * BATCH_SIZES.get(0));
    }

    /** Return the leaders of the topic's partitions, for a topic of another name. */
    private MetadataSnapshot leaders(String name) {
        Map<Integer, Node> nodes = new HashMap<>();
        List<PartitionMetadata> partitions = new ArrayList<>();
        for (TopicPartitionInfo each : topic.partitions()) {
            Optional<Node> leader = Optional.ofNullable(each.leader()).filter(node -> !node.isEmpty());
            leader.ifPresent(node -> nodes.put(node.id(), node));
            List<Integer> replicas = leader.map(node -> List.of(node.id())).orElse(List.of());
            partitions.add(new PartitionMetadata(Errors.NONE, new TopicPartition(name, each.partition()),
                    leader.map(Node::id), Optional.of(0), replicas, replicas, List.of()));
        }
        return new MetadataSnapshot("replay", nodes, partitions, Set.of(), Set.of(), Set.of(), null,
                Map.of(name, topic.topicId()));
    }
}
