package io.kafkapareto;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.apache.kafka.clients.admin.AbstractOptions;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.DeleteRecordsOptions;
import org.apache.kafka.clients.admin.DeleteTopicsOptions;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.DescribeConsumerGroupsOptions;
import org.apache.kafka.clients.admin.DescribeFeaturesOptions;
import org.apache.kafka.clients.admin.DescribeMetadataQuorumOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListOffsetsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.server.common.MetadataVersion;

/**
 * Runs Kafka's AdminClient behind a pipe: one JSON request per line on stdin, one JSON reply per line on stdout.
 *
 * <p>A request is {@code {"id", "operation", "timeout_ms", ...}}, an answer {@code {"id", "ok"}} or
 * {@code {"id", "error": {"type", "message"}}}. The first request is {@code connect}. The process ends with its stdin.
 */
public final class ClusterAdmin implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** Partitions by topic; constant, because this program creates the topics and a change breaks the campaign. */
    private final Map<String, List<TopicPartition>> partitions = new HashMap<>();

    private Admin admin;
    private TopicMark mark;

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try (ClusterAdmin helper = new ClusterAdmin()) {
            for (String line = requests.readLine(); line != null; line = requests.readLine()) {
                answers.println(JSON.writeValueAsString(helper.answer(JSON.readTree(line))));
            }
        }
    }

    @Override
    public void close() {
        if (admin != null) {
            mark.close();
            admin.close(Duration.ZERO);
        }
    }

    private ObjectNode answer(JsonNode request) throws JsonProcessingException {
        ObjectNode answer = JSON.createObjectNode().put("id", request.get("id").asLong());
        try {
            answer.set("ok", JSON.valueToTree(perform(request)));
        } catch (Exception failure) {
            Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
            answer.putObject("error").put("type", cause.getClass().getSimpleName()).put("message", messagesOf(cause));
        }
        return answer;
    }

    private Object perform(JsonNode request) throws Exception {
        return switch (request.get("operation").asText()) {
            case "connect" -> connect(request);
            case "describe_cluster" -> describeCluster(request);
            case "create_topic" -> createTopic(request);
            case "delete_topic" -> deleteTopic(request);
            case "topic_health" -> topicHealth(request);
            case "end_offsets" -> endOffsets(request);
            case "delete_records" -> deleteRecords(request);
            case "log_dirs" -> LogFolders.described(admin, request);
            case "broker_configs" -> brokerConfigs(request);
            case "topic_configs" -> namedOf(askForConfigs(request).get(), request);
            case "group_members" -> groupMembers(request);
            case "topic_ids" -> AllTopics.ids(admin, request);
            case "all_topics_health" -> AllTopics.health(admin, request);
            case "topics_on_brokers" -> LogFolders.topics(admin, request);
            case "make_mark" -> TopicMark.make(admin, request);
            case "id_of_mark" -> TopicMark.id(admin, request);
            case "delete_mark" -> TopicMark.delete(admin, request);
            case "append_to_mark" -> mark.append(request);
            case "last_of_mark" -> mark.last(request);
            default -> throw new IllegalArgumentException("unknown operation " + request.get("operation"));
        };
    }

    private Object connect(JsonNode request) throws IOException {
        Properties properties = request.hasNonNull("client_config")
                ? CommandLine.properties(request.get("client_config").asText()) : new Properties();
        properties.put(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, request.get("bootstrap_servers").asText());
        admin = Admin.create(properties);
        mark = new TopicMark(properties);
        return Map.of();
    }

    private Object describeCluster(JsonNode request) throws Exception {
        var cluster = admin.describeCluster(within(new DescribeClusterOptions(), request));
        ObjectNode found = JSON.createObjectNode().put("cluster_id", cluster.clusterId().get());
        ArrayNode brokers = found.putArray("brokers");
        for (Node node : cluster.nodes().get()) {
            brokers.addObject().put("id", node.id()).put("host", node.host()).put("port", node.port())
                    .put("rack", node.rack());
        }
        var features = admin.describeFeatures(within(new DescribeFeaturesOptions(), request)).featureMetadata().get();
        var supported = features.supportedFeatures().get("metadata.version");
        found.put("kafka_version", supported == null ? null : release(supported.maxVersion()));
        return found.put("controller_id", controllerId(request));
    }

    /** Return the metadata quorum's leader, or null if this user lacks the permission. */
    private Integer controllerId(JsonNode request) throws InterruptedException {
        try {
            return admin.describeMetadataQuorum(within(new DescribeMetadataQuorumOptions(), request))
                    .quorumInfo().get().leaderId();
        } catch (ExecutionException refused) {
            return null;
        }
    }

    static String release(short level) {
        try {
            return MetadataVersion.fromFeatureLevel(level).shortVersion();
        } catch (IllegalArgumentException newerThanThisClient) {
            return "level " + level;
        }
    }

    private Object createTopic(JsonNode request) throws Exception {
        NewTopic topic = newTopic(request, request.get("partitions").asInt());
        var created = admin.createTopics(List.of(topic), within(new CreateTopicsOptions(), request)).all();
        return failsWith(created, TopicExistsException.class) ? "existed" : "created";
    }

    /** Return the requested topic with this number of partitions. */
    static NewTopic newTopic(JsonNode request, int partitions) {
        Map<String, String> configs = request.get("configs").properties().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, entry -> entry.getValue().asText()));
        return new NewTopic(topicOf(request), partitions, (short) request.get("replication_factor").asInt())
                .configs(configs);
    }

    private Object deleteTopic(JsonNode request) throws Exception {
        partitions.remove(topicOf(request));
        var deleted = admin.deleteTopics(List.of(topicOf(request)), within(new DeleteTopicsOptions(), request)).all();
        return failsWith(deleted, UnknownTopicOrPartitionException.class) ? "absent" : "deleted";
    }

    private Object topicHealth(JsonNode request) throws Exception {
        KafkaFuture<Config> configs = askForConfigs(request); // both requests in parallel: this operation is frequent
        ArrayNode found = JSON.createArrayNode();
        for (TopicPartitionInfo partition : describeTopic(request).partitions()) {
            found.addObject().put("partition", partition.partition())
                    .put("leader_id", AllTopics.isLeaderless(partition) ? null : partition.leader().id())
                    .put("replicas", partition.replicas().size())
                    .put("in_sync_replicas", partition.isr().size());
        }
        ObjectNode health = JSON.createObjectNode().put("topic", topicOf(request));
        health.set("partitions", found);
        return health.put("min_insync_replicas", Integer.parseInt(configs.get().get("min.insync.replicas").value()));
    }

    private Object endOffsets(JsonNode request) throws Exception {
        var latest = each(partitionsOf(request), OffsetSpec.latest());
        var offsets = admin.listOffsets(latest, within(new ListOffsetsOptions(), request)).all().get();
        return offsets.entrySet().stream().sorted(Comparator.comparingInt(found -> found.getKey().partition()))
                .map(found -> found.getValue().offset()).toList();
    }

    private Object deleteRecords(JsonNode request) throws Exception {
        var upToHighWatermark = each(partitionsOf(request), RecordsToDelete.beforeOffset(-1));
        admin.deleteRecords(upToHighWatermark, within(new DeleteRecordsOptions(), request)).all().get();
        return Map.of();
    }

    /** Return the named settings of each broker; unknown ones are omitted. */
    private Object brokerConfigs(JsonNode request) throws Exception {
        var nodes = admin.describeCluster(within(new DescribeClusterOptions(), request)).nodes().get();
        List<ConfigResource> brokers = nodes.stream()
                .map(node -> new ConfigResource(ConfigResource.Type.BROKER, node.idString())).toList();
        var answers = admin.describeConfigs(brokers, within(new DescribeConfigsOptions(), request)).values();
        ObjectNode found = JSON.createObjectNode();
        for (ConfigResource broker : brokers) {
            found.set(broker.name(), namedOf(answers.get(broker).get(), request));
        }
        return found;
    }

    /** Return the named settings; null for one without a value. Sensitive and unknown ones are omitted. */
    static ObjectNode namedOf(Config config, JsonNode request) {
        ObjectNode found = JSON.createObjectNode();
        for (JsonNode name : request.get("names")) {
            ConfigEntry entry = config.get(name.asText());
            if (entry != null && !entry.isSensitive()) {
                found.put(entry.name(), entry.value());
            }
        }
        return found;
    }

    private Object groupMembers(JsonNode request) throws Exception {
        String group = request.get("group").asText();
        return admin.describeConsumerGroups(List.of(group), within(new DescribeConsumerGroupsOptions(), request)).all()
                .get().get(group).members().size();
    }

    private TopicDescription describeTopic(JsonNode request) throws Exception {
        String topic = topicOf(request);
        return admin.describeTopics(List.of(topic), within(new DescribeTopicsOptions(), request)).allTopicNames().get()
                .get(topic);
    }

    private List<TopicPartition> partitionsOf(JsonNode request) throws Exception {
        String topic = topicOf(request);
        if (!partitions.containsKey(topic)) {
            partitions.put(topic, describeTopic(request).partitions().stream()
                    .map(partition -> new TopicPartition(topic, partition.partition())).toList());
        }
        return partitions.get(topic);
    }

    private KafkaFuture<Config> askForConfigs(JsonNode request) {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, topicOf(request));
        return admin.describeConfigs(List.of(topic), within(new DescribeConfigsOptions(), request)).values().get(topic);
    }

    private static <V> Map<TopicPartition, V> each(List<TopicPartition> partitions, V value) {
        return partitions.stream().collect(Collectors.toMap(Function.identity(), partition -> value));
    }

    static String topicOf(JsonNode request) {
        return request.get("topic").asText();
    }

    static <T extends AbstractOptions<T>> T within(T options, JsonNode request) {
        return options.timeoutMs(request.get("timeout_ms").asInt());
    }

    /** Wait for the result, and return whether it is one of these errors. */
    static boolean failsWith(KafkaFuture<?> answer, Class<?>... errors) throws Exception {
        try {
            answer.get();
            return false;
        } catch (ExecutionException failure) {
            if (Stream.of(errors).anyMatch(each -> each.isInstance(failure.getCause()))) {
                return true;
            }
            throw failure;
        }
    }

    /** Join the messages of the failure and its causes: Kafka often hides the reason below "Failed to create ...". */
    static String messagesOf(Throwable failure) {
        StringBuilder messages = new StringBuilder(String.valueOf(failure.getMessage()));
        for (Throwable cause = failure.getCause(); cause != null; cause = cause.getCause()) {
            if (cause.getMessage() != null && messages.indexOf(cause.getMessage()) < 0) {
                messages.append(": ").append(cause.getMessage());
            }
        }
        return messages.toString();
    }
}
