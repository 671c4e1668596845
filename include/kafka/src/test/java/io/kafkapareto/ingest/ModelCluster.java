package io.kafkapareto.ingest;

import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ApiVersionsResponseData;
import org.apache.kafka.common.message.InitProducerIdResponseData;
import org.apache.kafka.common.message.MetadataResponseData;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseBroker;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponsePartition;
import org.apache.kafka.common.message.MetadataResponseData.MetadataResponseTopic;
import org.apache.kafka.common.message.ProduceRequestData.PartitionProduceData;
import org.apache.kafka.common.message.ProduceResponseData;
import org.apache.kafka.common.message.ProduceResponseData.PartitionProduceResponse;
import org.apache.kafka.common.message.ProduceResponseData.TopicProduceResponse;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ApiMessage;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.ProduceRequest;
import org.apache.kafka.common.requests.RequestHeader;
import org.apache.kafka.common.requests.RequestUtils;
import org.apache.kafka.common.utils.Utils;

/**
 * Nodes on loopback that accept batches by Kafka's rule for idempotent producers, with failures planned by a test.
 *
 * <p>All replicas are in sync: each node has all appended batches. As in Kafka, a partition remembers a producer's last
 * five batches. It accepts one of these as a duplicate, and any other only if its sequence is next. A producer's next
 * epoch begins with sequence 0, and ends all earlier ones.
 */
final class ModelCluster implements AutoCloseable {
    private static final String TOPIC = "rows";
    private static final Uuid TOPIC_ID = Uuid.randomUuid();
    private static final int REMEMBERED_BATCHES = 5;
    private static final int SILENCE_MS = 20;

    /** A node's behavior for a batch. */
    interface Script {
        /** Return the node's response; null if it sends no more on this connection. */
        Errors answer(Node node, Partition partition, RecordBatch batch) throws InterruptedException;
    }

    private final List<Node> nodes = new ArrayList<>();
    private final List<Partition> partitions = new ArrayList<>();
    private final Script script;
    private final AtomicInteger outOfOrder = new AtomicInteger();

    /** Start this many nodes; the first one leads all partitions. */
    ModelCluster(int nodes, int partitions, Script script) throws IOException {
        this.script = script;
        for (int number = 0; number < nodes; number++) {
            this.nodes.add(new Node(number));
        }
        for (int number = 0; number < partitions; number++) {
            this.partitions.add(new Partition(number));
        }
        this.nodes.forEach(each -> startDaemon(each::accept));
    }

    String topic() {
        return TOPIC;
    }

    /** Return properties of a producer that detects failures quickly. */
    Properties properties() {
        Properties properties = new Properties();
        properties.setProperty("bootstrap.servers", "127.0.0.1:" + nodes.get(0).port);
        properties.setProperty("key.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        properties.setProperty("value.serializer", "org.apache.kafka.common.serialization.ByteArraySerializer");
        properties.setProperty("retry.backoff.ms", "1");
        properties.setProperty("retry.backoff.max.ms", "10");
        properties.setProperty("reconnect.backoff.ms", "1");
        properties.setProperty("reconnect.backoff.max.ms", "10");
        properties.setProperty("request.timeout.ms", "10000");
        properties.setProperty("delivery.timeout.ms", "20000");
        return properties;
    }

    Node node(int number) {
        return nodes.get(number);
    }

    Partition partition(int number) {
        return partitions.get(number);
    }

    /** Return how many batches were refused as out of order. */
    int outOfOrder() {
        return outOfOrder.get();
    }

    @Override
    public void close() {
        nodes.forEach(Node::kill);
    }

    private static void startDaemon(Runnable run) {
        Thread thread = new Thread(run, "model-cluster");
        thread.setDaemon(true);
        thread.start();
    }

    /** One batch of a log. */
    private record Appended(short epoch, int firstSequence, int lastSequence, List<String> rows, long lastRow) {}

    /** The log of a partition, shared by all nodes, and the producer's remembered batches. */
    static final class Partition {
        private final Deque<Appended> log = new ArrayDeque<>();
        private final Deque<Appended> remembered = new ArrayDeque<>();
        private final int number;
        private int leader;

        private Partition(int number) {
            this.number = number;
        }

        int number() {
            return number;
        }

        synchronized void moveTo(int node) {
            leader = node;
        }

        /** Forget all batches except the last one, like a restarted broker. */
        synchronized void forget() {
            while (remembered.size() > 1) {
                remembered.poll();
            }
        }

        /** Lose the last batches except the first one, like a leader elected while out of sync. */
        synchronized void lose(int lost) {
            for (int each = 0; each < lost && log.size() > 1; each++) {
                log.pollLast();
            }
            remembered.clear();
            remembered.add(log.getLast());
        }

        synchronized List<String> rows() {
            return log.stream().flatMap(each -> each.rows().stream()).toList();
        }

        /** Return the file offset of the last row; -1 if there is none. */
        synchronized long lastRow() {
            return log.isEmpty() ? -1 : log.getLast().lastRow();
        }

        private synchronized int leader() {
            return leader;
        }

        private synchronized Errors append(RecordBatch batch) {
            Appended last = remembered.peekLast();
            if (last != null && batch.producerEpoch() < last.epoch()) {
                return Errors.INVALID_PRODUCER_EPOCH;
            }
            boolean isOfLastEpoch = last != null && batch.producerEpoch() == last.epoch();
            if (isOfLastEpoch && remembered.stream().anyMatch(each -> each.firstSequence() == batch.baseSequence()
                    && each.lastSequence() == batch.lastSequence() && each.epoch() == batch.producerEpoch())) {
                return Errors.NONE;
            }
            if (last != null && batch.baseSequence() != (isOfLastEpoch ? last.lastSequence() + 1 : 0)) {
                return Errors.OUT_OF_ORDER_SEQUENCE_NUMBER;
            }
            List<String> rows = new ArrayList<>();
            long lastRow = -1;
            for (Record each : batch) {
                rows.add(Utils.utf8(each.value()));
                lastRow = each.headers().length > 0 ? ByteBuffer.wrap(each.headers()[0].value()).getLong()
                        : each.hasKey() ? each.key().getLong() : -1;
            }
            Appended appended = new Appended(
                    batch.producerEpoch(), batch.baseSequence(), batch.lastSequence(), rows, lastRow);
            log.add(appended);
            remembered.add(appended);
            if (remembered.size() > REMEMBERED_BATCHES) {
                remembered.poll();
            }
            return Errors.NONE;
        }
    }

    /** One broker. */
    final class Node {
        private final int number;
        private final int port;
        private final ServerSocket server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        private final List<Socket> connections = new ArrayList<>();

        private Node(int number) throws IOException {
            this.number = number;
            port = server.getLocalPort();
        }

        int number() {
            return number;
        }

        /** Process a batch like a broker, and return the response. */
        Errors take(Partition partition, RecordBatch batch) {
            return partition.leader() == number ? partition.append(batch) : Errors.NOT_LEADER_OR_FOLLOWER;
        }

        /** Close all connections, and remember only the last batch of each partition. */
        void restart() {
            partitions.forEach(Partition::forget);
            disconnect();
        }

        /** Stop the node; it accepts no more connections. */
        void kill() {
            Utils.closeQuietly(server, "server");
            disconnect();
        }

        private synchronized void disconnect() {
            connections.forEach(each -> Utils.closeQuietly(each, "connection"));
            connections.clear();
        }

        private void accept() {
            try {
                while (true) {
                    Socket connection = server.accept();
                    synchronized (this) {
                        connections.add(connection);
                    }
                    startDaemon(() -> serve(connection));
                }
            } catch (IOException killed) {
                disconnect();
            }
        }

        private void serve(Socket connection) {
            try (connection) {
                connection.setTcpNoDelay(true);
                DataInputStream in = new DataInputStream(connection.getInputStream());
                DataOutputStream out = new DataOutputStream(connection.getOutputStream());
                boolean isSilent = false;
                while (true) {
                    byte[] request = new byte[in.readInt()];
                    in.readFully(request);
                    byte[] answer = answered(ByteBuffer.wrap(request));
                    isSilent |= answer == null;
                    if (isSilent) {
                        connection.setSoTimeout(SILENCE_MS);  // closes it when idle
                    } else {
                        out.writeInt(answer.length);
                        out.write(answer);
                        out.flush();
                    }
                }
            } catch (IOException | InterruptedException gone) {
                return;
            }
        }

        private byte[] answered(ByteBuffer request) throws InterruptedException {
            RequestHeader header = RequestHeader.parse(request);
            ApiMessage answer = switch (header.apiKey()) {
                case API_VERSIONS -> versions();
                case METADATA -> metadata();
                case INIT_PRODUCER_ID -> new InitProducerIdResponseData().setProducerId(7).setProducerEpoch((short) 0);
                case PRODUCE -> produced(ProduceRequest.parse(new ByteBufferAccessor(request), header.apiVersion()));
                default -> throw new UncheckedIOException(new IOException("not in the model: " + header.apiKey()));
            };
            return answer == null ? null : Utils.toArray(RequestUtils.serialize(
                    header.toResponseHeader().data(), header.toResponseHeader().headerVersion(), answer,
                    header.apiVersion()));
        }

        private ApiMessage versions() {
            var found = new ApiVersionsResponseData();
            for (ApiKeys each : List.of(ApiKeys.API_VERSIONS, ApiKeys.METADATA, ApiKeys.INIT_PRODUCER_ID, ApiKeys.PRODUCE)) {
                found.apiKeys().add(new ApiVersionsResponseData.ApiVersion().setApiKey(each.id)
                        .setMinVersion(each.oldestVersion()).setMaxVersion(each.latestVersion()));
            }
            return found;
        }

        private ApiMessage metadata() {
            var found = new MetadataResponseData().setClusterId("model").setControllerId(number);
            nodes.stream().filter(each -> !each.server.isClosed()).forEach(each -> found.brokers().add(
                    new MetadataResponseBroker().setNodeId(each.number).setHost("127.0.0.1").setPort(each.port)));
            List<Integer> all = nodes.stream().map(Node::number).toList();
            var topic = new MetadataResponseTopic().setName(TOPIC).setTopicId(TOPIC_ID);
            for (int partition = 0; partition < partitions.size(); partition++) {
                topic.partitions().add(new MetadataResponsePartition().setPartitionIndex(partition)
                        .setLeaderId(partitions.get(partition).leader()).setReplicaNodes(all).setIsrNodes(all));
            }
            found.topics().add(topic);
            return found;
        }

        private ApiMessage produced(ProduceRequest request) throws InterruptedException {
            PartitionProduceData sent = request.data().topicData().iterator().next().partitionData().get(0);
            RecordBatch batch = ((MemoryRecords) sent.records()).batches().iterator().next();
            Errors error = script.answer(this, partitions.get(sent.index()), batch);
            if (error == null) {
                return null;
            }
            if (error == Errors.OUT_OF_ORDER_SEQUENCE_NUMBER) {
                outOfOrder.incrementAndGet();
            }
            var found = new ProduceResponseData();
            found.responses().add(new TopicProduceResponse().setName(TOPIC).setTopicId(TOPIC_ID).setPartitionResponses(
                    List.of(new PartitionProduceResponse().setIndex(sent.index()).setErrorCode(error.code()))));
            return found;
        }
    }
}
