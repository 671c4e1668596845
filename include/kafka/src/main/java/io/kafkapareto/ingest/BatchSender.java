package io.kafkapareto.ingest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Iterator;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.stream.Stream;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.NetworkClientUtils;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.internals.ProducerMetadata;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.InvalidMetadataException;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.internals.ClusterResourceListeners;
import org.apache.kafka.common.message.ProduceRequestData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.ProduceResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/**
 * Send record batches over the client's own network layer with the client's guarantee: with acks=all and idempotence
 * each batch is stored once and in order, by its producer id and sequence numbers (KIP-98).
 *
 * <p>A separate thread does all the sending. A request carries one batch.
 */
final class BatchSender implements AutoCloseable {
    private static final long IDLE_MS = 100;
    private static final String METRICS = "batch-sender";
    private static final long METADATA_MS = 300_000;

    private final Time time;
    private final Metrics metrics = new Metrics();
    private final String topic;
    private final short acks;
    private final int requestTimeoutMs;
    private final int deliveryTimeoutMs;
    private final long backoffMs;
    private final ProducerMetadata metadata;
    private final NetworkClient client;
    private final BufferPool buffers;
    private final ConcurrentLinkedQueue<Runnable> handedOver = new ConcurrentLinkedQueue<>();
    private final ArrayDeque<SentBatch> waiting = new ArrayDeque<>();
    private final List<PartitionQueue> partitions = new ArrayList<>();
    private final Thread thread = new Thread(this::run, "batch-sender");
    private final long[] acknowledged;
    private ProducerIdentity identity = ProducerIdentity.NONE;
    private long sentBatchBytes;
    private long acknowledgedBytes;
    private long requests;
    private long retries;
    private double throttleMaxMs;
    private volatile boolean closed;
    private int outstanding;
    private volatile String failure = "";
    private volatile String lostRows = "";

    /** Connect to the cluster, and request a producer id if the properties enable idempotence. */
    BatchSender(Properties properties, String topic, BufferPool buffers, Time source) throws IOException {
        time = new MonotonicTime(source);
        ProducerConfig config = new ProducerConfig(properties);
        LogContext logContext = new LogContext("[batch-sender] ");
        this.topic = topic;
        this.buffers = buffers;
        String asked = config.getString(ProducerConfig.ACKS_CONFIG);
        acks = asked.equals("all") ? -1 : Short.parseShort(asked);
        requestTimeoutMs = config.getInt(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG);
        deliveryTimeoutMs = config.getInt(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG);
        backoffMs = config.getLong(ProducerConfig.RETRY_BACKOFF_MS_CONFIG);
        metadata = new ProducerMetadata(
                backoffMs, config.getLong(ProducerConfig.RETRY_BACKOFF_MAX_MS_CONFIG), METADATA_MS, METADATA_MS,
                logContext, new ClusterResourceListeners(), time);
        metadata.bootstrap(ClientUtils.parseAndValidateAddresses(config));
        metadata.add(topic, time.milliseconds());
        client = ClientUtils.createNetworkClient(
                config, metrics, METRICS, logContext, new ApiVersions(), time,
                config.getInt(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION), metadata, null, null);
        try {
            awaitTopic();
            if (config.getBoolean(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG)) {
                identity = ProducerIdentity.ask(client, time, requestTimeoutMs);
            }
        } catch (IOException | RuntimeException error) {
            closeClient();
            throw error;
        }
        int count = metadata.fetch().partitionCountForTopic(topic);
        Stream.generate(PartitionQueue::new).limit(count).forEach(partitions::add);
        acknowledged = new long[count];
        thread.start();
    }

    private void awaitTopic() throws IOException {
        long deadlineMs = time.milliseconds() + requestTimeoutMs;
        while (metadata.fetch().partitionCountForTopic(topic) == null) {
            metadata.maybeThrowAnyException();
            if (time.milliseconds() > deadlineMs) {
                throw new IOException("topic " + topic + " was not found within " + requestTimeoutMs + " ms");
            }
            client.poll(IDLE_MS, time.milliseconds());
        }
    }

    int partitions() {
        return acknowledged.length;
    }

    ProducerIdentity identity() {
        return identity;
    }

    /** Queue a builder's batch behind those already queued for its partition. */
    void send(long number, int partition, ByteBuffer written, int rows, long rowBytes) {
        SentBatch batch = new SentBatch(
                number, partition, MemoryRecords.readableRecords(written), written, rows, rowBytes, time.milliseconds());
        synchronized (this) {
            outstanding++;
        }
        handedOver.add(() -> waiting.add(batch));
        client.wakeup();
    }

    /** Start the producer's next epoch after a flush: sequences restart at 0 in all partitions. */
    void renew() {
        identity = identity.next();
        lostRows = "";
        handedOver.add(() -> partitions.replaceAll(each -> new PartitionQueue()));
    }

    /** Wait until every batch is acknowledged or dropped, or one has failed permanently. */
    synchronized void flush() throws InterruptedException {
        while (outstanding > 0 && failure.isEmpty()) {
            wait(IDLE_MS);
        }
    }

    boolean hasFailed() {
        return !failure.isEmpty();
    }

    String failure() {
        return failure;
    }

    /** Name the leader that lost acknowledged rows; empty if none did. Its partition's batches are dropped. */
    String lostRows() {
        return lostRows;
    }

    synchronized long[] acknowledged() {
        return acknowledged.clone();
    }

    synchronized long acknowledgedBytes() {
        return acknowledgedBytes;
    }

    /** Return the metrics of sending; {@code uncompressedBytes} is the batches' size before the codec. */
    synchronized SinkMetrics metrics(long uncompressedBytes) {
        long rows = Arrays.stream(acknowledged).sum();
        double each = Math.max(requests, 1);
        return new SinkMetrics(
                SinkMetrics.sentBytes(metrics.metrics(), METRICS + "-metrics"), requests, sentBatchBytes / each,
                sentBatchBytes / (double) Math.max(uncompressedBytes, 1), rows / each, buffers.blockedNs() / 1e9,
                retries, throttleMaxMs);
    }

    private void run() {
        try {
            while (!closed && !hasFailed()) {
                long nowMs = time.milliseconds();
                for (Runnable next = handedOver.poll(); next != null; next = handedOver.poll()) {
                    next.run();
                }
                for (PartitionQueue each : partitions) {
                    List<SentBatch> again = each.takeFailed(nowMs);
                    again.forEach(waiting::addFirst);
                    retries += each.isLost() ? 0 : again.size();
                }
                if (!lostRows.isEmpty()) {
                    waiting.removeIf(this::isDropped);
                }
                metadata.add(topic, nowMs);  // else it expires after METADATA_MS
                requireInTime(nowMs);
                sendWaiting(nowMs);
                client.poll(IDLE_MS, nowMs);
                metadata.maybeThrowAnyException();
            }
        } catch (Throwable error) {  // the reader must learn of any failure of this thread
            fail(error);
        } finally {
            buffers.close();
        }
    }

    private void requireInTime(long nowMs) {
        SentBatch oldest = waiting.peekFirst();
        if (oldest != null && nowMs - oldest.submittedMs() > deliveryTimeoutMs) {
            throw new TimeoutException(
                    "a batch for partition " + oldest.partition() + " was not acknowledged within " + deliveryTimeoutMs
                            + " ms (delivery.timeout.ms)");
        }
    }

    /**
     * Send the batches that may be sent, in order; if a partition's first batch waits, all its batches wait. A node's
     * readiness is checked once, because the client's backoff with jitter could otherwise change the result in between.
     */
    private void sendWaiting(long nowMs) {
        Cluster cluster = metadata.fetch();
        Set<Node> busy = new HashSet<>();
        Iterator<SentBatch> each = waiting.iterator();
        while (each.hasNext() && busy.size() < cluster.nodes().size()) {
            SentBatch batch = each.next();
            Node leader = cluster.leaderFor(new TopicPartition(topic, batch.partition()));
            if (leader == null) {
                metadata.requestUpdate(false);
            } else if (busy.contains(leader) || !client.ready(leader, nowMs)) {
                NetworkClientUtils.maybeThrowAuthFailure(client, leader);
                busy.add(leader);
            } else if (partitions.get(batch.partition()).maySend(batch, leader.id())) {
                each.remove();
                send(batch, leader, nowMs);
            }
        }
    }

    private void send(SentBatch batch, Node leader, long nowMs) {
        var data = new ProduceRequestData.PartitionProduceData()
                .setIndex(batch.partition()).setRecords(batch.records());
        var ofTopic = new ProduceRequestData.TopicProduceData()
                .setName(topic).setTopicId(metadata.topicIds().getOrDefault(topic, Uuid.ZERO_UUID))
                .setPartitionData(List.of(data));
        var topics = new ProduceRequestData.TopicProduceDataCollection();
        topics.add(ofTopic);
        var builder = ProduceRequest.builder(
                new ProduceRequestData().setAcks(acks).setTimeoutMs(requestTimeoutMs).setTopicData(topics));
        partitions.get(batch.partition()).sent(batch, leader.id());
        sentBatchBytes += batch.records().sizeInBytes();
        requests++;
        client.send(client.newClientRequest(
                leader.idString(), builder, nowMs, acks != 0, requestTimeoutMs,
                response -> take(response, batch)), nowMs);
    }

    /** Process a response; the client only logs exceptions thrown here. */
    private void take(ClientResponse response, SentBatch batch) {
        try {
            answered(batch, response);
        } catch (RuntimeException error) {
            fail(error);
        }
    }

    private void answered(SentBatch batch, ClientResponse response) {
        PartitionQueue queue = partitions.get(batch.partition());
        Errors error = errorOf(response);
        boolean isOutOfOrder = error == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER;
        if (error == Errors.NONE || error == Errors.DUPLICATE_SEQUENCE_NUMBER
                || isOutOfOrder && queue.hasStoredYoungerThan(batch)) {
            queue.stored(batch).forEach(this::acknowledge);
        } else if (error.exception() instanceof RetriableException || isOutOfOrder && queue.hasOlderThan(batch)) {
            if (error.exception() instanceof InvalidMetadataException) {
                metadata.requestUpdate(true);
            }
            queue.failed(batch, time.milliseconds() + backoffMs);
        } else if (isOutOfOrder) {
            queue.doubted(batch, time.milliseconds() + backoffMs);
            if (queue.isLost()) {
                lostRows = "OutOfOrderSequenceException: the leader of partition " + batch.partition() + " of topic "
                        + topic + " has lost rows that were acknowledged";
            }
        } else {
            queue.refused(batch);
            fail(error == Errors.MESSAGE_TOO_LARGE ? tooLarge(batch) : error.exception());
        }
    }

    private RecordTooLargeException tooLarge(SentBatch batch) {
        return new RecordTooLargeException("a batch of " + batch.records().sizeInBytes() + " bytes exceeds "
                + "max.message.bytes of topic " + topic + "; raise that, or lower batch.size (for several rows) "
                + "or max.request.size (for one)");
    }

    private Errors errorOf(ClientResponse response) {
        if (response.authenticationException() != null) {
            throw response.authenticationException();
        }
        if (response.versionMismatch() != null) {
            throw response.versionMismatch();
        }
        if (response.wasDisconnected()) {
            return Errors.NETWORK_EXCEPTION;
        }
        if (!response.hasResponse()) {
            return Errors.NONE;  // acks=0: the broker sends no response
        }
        ProduceResponse answer = (ProduceResponse) response.responseBody();
        throttleMaxMs = Math.max(throttleMaxMs, answer.throttleTimeMs());
        return Errors.forCode(answer.data().responses().iterator().next().partitionResponses().get(0).errorCode());
    }

    private void acknowledge(SentBatch batch) {
        synchronized (this) {
            acknowledged[batch.partition()] += batch.rows();
            acknowledgedBytes += batch.rowBytes();
        }
        forget(batch);
    }

    private boolean isDropped(SentBatch batch) {
        boolean isLost = partitions.get(batch.partition()).isLost();
        if (isLost) {
            forget(batch);
        }
        return isLost;
    }

    private void forget(SentBatch batch) {
        synchronized (this) {
            outstanding--;
            if (outstanding == 0) {
                notifyAll();
            }
        }
        buffers.giveBack(batch.buffer());
    }

    private synchronized void fail(Throwable error) {
        if (failure.isEmpty()) {
            failure = error.getClass().getSimpleName() + ": " + error.getMessage();
        }
        notifyAll();
    }

    @Override
    public void close() {
        closed = true;
        client.wakeup();
        try {
            thread.join();
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        closeClient();
    }

    private void closeClient() {
        client.close();
        metadata.close();
        metrics.close();
    }
}
