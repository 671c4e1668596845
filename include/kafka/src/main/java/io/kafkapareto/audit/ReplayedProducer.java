package io.kafkapareto.audit;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.clients.MetadataSnapshot;
import org.apache.kafka.clients.producer.internals.BufferPool;
import org.apache.kafka.clients.producer.internals.ProducerBatch;
import org.apache.kafka.clients.producer.internals.RecordAccumulator;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.LogContext;

/**
 * Sends one producer's records again, under other settings and on a simulated clock.
 *
 * <p>Kafka's own accumulator forms the batches, so partitions, batch size and linger count as in a real producer. Only
 * the thread that empties it is modelled: it needs {@link #CYCLE_US} for a pass, sends at most five requests to a broker
 * at a time, and every request is answered after {@link #RESPONSE_US}.
 */
final class ReplayedProducer {
    /** Let the producer's own partitioner choose. */
    static final int ANY_PARTITION = -1;
    private static final long CYCLE_US = 100;
    private static final long RESPONSE_US = 2000;
    private static final int MAX_IN_FLIGHT = 5;
    private static final int MAX_REQUEST_BYTES = 1 << 20;
    private static final long BUFFER_BYTES = 512L << 20;
    private static final String METRICS = "producer-metrics";

    /** A record and when it is sent; {@link #ANY_PARTITION} if it has no key. */
    record Arrival(long us, int partition, StoredBatch.Sent record) {}

    /** The settings that decide on batches. */
    record Settings(int batchSize, int lingerMs, Compression compression) {}

    /** A batch that left, and the number of records in it. */
    record SentBatch(long lastTimestampMs, int records, int bytes) {}

    /** What left the producer. */
    record Outcome(List<SentBatch> batches, int requests) {}

    private final SimulatedTime time = new SimulatedTime();
    private final MetadataSnapshot metadata;
    private final String topic;
    private final RecordAccumulator accumulator;
    private final Map<Integer, Deque<InFlight>> inFlight = new HashMap<>();
    private final List<SentBatch> batches = new ArrayList<>();
    private int requests;

    private record InFlight(long answeredUs, List<ProducerBatch> batches) {}

    /** Prepare a producer; its {@code topic} names it, because estimates of compression are kept by topic. */
    private ReplayedProducer(String topic, MetadataSnapshot metadata, Settings settings, Metrics metrics) {
        this.topic = topic;
        this.metadata = metadata;
        accumulator = new RecordAccumulator(new LogContext(), settings.batchSize(), settings.compression(),
                settings.lingerMs(), 100, 1000, Integer.MAX_VALUE,
                new RecordAccumulator.PartitionerConfig(true, 0), metrics, METRICS, time, null,
                new BufferPool(BUFFER_BYTES, settings.batchSize(), metrics, time, METRICS));
    }

    /**
     * Send the records, which must be in order of time.
     *
     * @param metadata the leaders of a topic of this name
     * @throws org.apache.kafka.clients.producer.BufferExhaustedException if more records wait than memory has room for
     */
    static Outcome send(String topic, MetadataSnapshot metadata, List<Arrival> arrivals, Settings settings)
            throws InterruptedException {
        try (Metrics metrics = new Metrics()) {
            return new ReplayedProducer(topic, metadata, settings, metrics).sent(arrivals);
        }
    }

    private Outcome sent(List<Arrival> arrivals) throws InterruptedException {
        int next = 0;
        long nowUs = arrivals.get(0).us();
        while (next < arrivals.size() || accumulator.hasUndrained()) {
            while (next < arrivals.size() && arrivals.get(next).us() <= nowUs) {
                append(arrivals.get(next++));
            }
            time.setUs(nowUs);
            takeAnswers(nowUs);
            var ready = accumulator.ready(metadata, time.milliseconds());
            Set<Node> open = ready.readyNodes.stream().filter(node -> waiting(node).size() < MAX_IN_FLIGHT)
                    .collect(Collectors.toSet());
            boolean hasSent = drain(open, nowUs);
            long nextUs = next < arrivals.size() ? arrivals.get(next).us() : Long.MAX_VALUE;
            if (hasSent) {
                nextUs = nowUs;
            } else if (open.size() < ready.readyNodes.size()) {
                nextUs = Math.min(nextUs, firstAnswerUs());
            } else if (ready.nextReadyCheckDelayMs != Long.MAX_VALUE) {
                nextUs = Math.min(nextUs, (time.milliseconds() + ready.nextReadyCheckDelayMs) * 1000);
            }
            nowUs = Math.max(nextUs, nowUs + CYCLE_US);
        }
        return new Outcome(batches, requests);
    }

    private void append(Arrival arrival) throws InterruptedException {
        time.setUs(arrival.us());
        StoredBatch.Sent record = arrival.record();
        accumulator.append(topic, arrival.partition(), record.timestampMs(), record.key(), record.value(),
                record.headers(), null, 0, time.milliseconds(), metadata.cluster());
    }

    private boolean drain(Set<Node> nodes, long nowUs) {
        boolean hasSent = false;
        for (var request : accumulator.drain(metadata, nodes, MAX_REQUEST_BYTES, time.milliseconds()).entrySet()) {
            if (request.getValue().isEmpty()) {
                continue;
            }
            hasSent = true;
            requests++;
            for (ProducerBatch batch : request.getValue()) {
                RecordBatch made = batch.records().batches().iterator().next();
                batches.add(new SentBatch(made.maxTimestamp(), made.countOrNull(), made.sizeInBytes()));
            }
            inFlight.computeIfAbsent(request.getKey(), each -> new ArrayDeque<>())
                    .add(new InFlight(nowUs + RESPONSE_US, request.getValue()));
        }
        return hasSent;
    }

    private void takeAnswers(long nowUs) {
        for (Deque<InFlight> ofNode : inFlight.values()) {
            while (!ofNode.isEmpty() && ofNode.peek().answeredUs() <= nowUs) {
                ofNode.poll().batches().forEach(accumulator::completeAndDeallocateBatch);
            }
        }
    }

    private Deque<InFlight> waiting(Node node) {
        return inFlight.getOrDefault(node.id(), new ArrayDeque<>());
    }

    private long firstAnswerUs() {
        return inFlight.values().stream().filter(each -> !each.isEmpty()).mapToLong(each -> each.peek().answeredUs())
                .min().orElse(Long.MAX_VALUE);
    }
}
