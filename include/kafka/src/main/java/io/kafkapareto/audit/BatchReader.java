package io.kafkapareto.audit;

import java.io.IOException;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import org.apache.kafka.clients.ApiVersions;
import org.apache.kafka.clients.ClientResponse;
import org.apache.kafka.clients.ClientUtils;
import org.apache.kafka.clients.DefaultHostResolver;
import org.apache.kafka.clients.ManualMetadataUpdater;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.NetworkClientUtils;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.metrics.Metrics;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.Records;
import org.apache.kafka.common.requests.FetchRequest;
import org.apache.kafka.common.requests.FetchResponse;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;

/**
 * Read record batches as brokers store them.
 *
 * <p>A consumer of Kafka's client does not expose batches, so this sends the consumer's fetch requests itself, without a
 * group and without a commit.
 */
final class BatchReader implements AutoCloseable {
    private static final String CLIENT_ID = "kafka-pareto-audit";
    private static final int REQUEST_TIMEOUT_MS = 30_000;
    private static final int CONNECT_TIMEOUT_MS = 15_000;
    private static final int MAX_WAIT_MS = 500;

    private final Metrics metrics = new Metrics();
    private final NetworkClient client;

    BatchReader(Properties properties) {
        client = ClientUtils.createNetworkClient(new AdminClientConfig(properties), CLIENT_ID, metrics, "audit",
                new LogContext(), new ApiVersions(), Time.SYSTEM, 1, REQUEST_TIMEOUT_MS, null,
                new ManualMetadataUpdater(), new DefaultHostResolver(), null, null);
    }

    @Override
    public void close() {
        client.close();
        metrics.close();
    }

    /**
     * Return the records from each partition's offset on, in one request to the leader of all of them.
     *
     * <p>A batch that holds an offset comes whole, and the first one even if it exceeds the limit; the last one of a
     * partition may be cut off.
     *
     * @throws org.apache.kafka.common.errors.ApiException if a partition cannot be read, for example for lack of a
     *     permission
     */
    Map<TopicPartition, Records> fetch(
            Node leader, Uuid topicId, Map<TopicPartition, Long> offsets, int partitionBytes) throws IOException {
        Map<TopicPartition, FetchRequest.PartitionData> wanted = new LinkedHashMap<>();
        offsets.forEach((partition, offset) -> wanted.put(partition,
                new FetchRequest.PartitionData(topicId, offset, -1, partitionBytes, Optional.empty())));
        if (!NetworkClientUtils.awaitReady(client, leader, Time.SYSTEM, CONNECT_TIMEOUT_MS)) {
            throw new TimeoutException("no connection to broker " + leader + " within " + CONNECT_TIMEOUT_MS + " ms");
        }
        ClientResponse answer = NetworkClientUtils.sendAndReceive(client, client.newClientRequest(leader.idString(),
                FetchRequest.Builder.forConsumer(ApiKeys.FETCH.latestVersion(), MAX_WAIT_MS, 1, wanted),
                Time.SYSTEM.milliseconds(), true), Time.SYSTEM);
        FetchResponse response = (FetchResponse) answer.responseBody();
        throwOn(response.error().code());
        String topic = offsets.keySet().iterator().next().topic();
        Map<TopicPartition, Records> found = new HashMap<>();
        for (var each : response.responseData(Map.of(topicId, topic), answer.requestHeader().apiVersion()).entrySet()) {
            FetchResponseData.PartitionData data = each.getValue();
            throwOn(data.errorCode());
            found.put(each.getKey(), FetchResponse.recordsOrFail(data));
        }
        return found;
    }

    private static void throwOn(short errorCode) {
        Errors error = Errors.forCode(errorCode);
        if (error != Errors.NONE) {
            throw error.exception();
        }
    }
}
