package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeLogDirsOptions;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;

/** Describe the brokers' log folders: their content and free space. */
final class LogFolders {
    private static final ObjectMapper JSON = new ObjectMapper();

    private LogFolders() {}

    static ArrayNode described(Admin admin, JsonNode request) throws Exception {
        String topic = request.get("topic").asText();
        ArrayNode found = JSON.createArrayNode();
        for (Map.Entry<Integer, KafkaFuture<Map<String, LogDirDescription>>> broker : ask(admin, request).entrySet()) {
            for (Map.Entry<String, LogDirDescription> dir : broker.getValue().get().entrySet()) {
                LogDirDescription described = dir.getValue();
                ObjectNode entry = found.addObject().put("broker_id", broker.getKey()).put("path", dir.getKey());
                described.totalBytes().ifPresent(bytes -> entry.put("total_bytes", bytes));
                described.usableBytes().ifPresent(bytes -> entry.put("usable_bytes", bytes));
                entry.put("topic_bytes", described.replicaInfos().entrySet().stream()
                        .filter(replica -> replica.getKey().topic().equals(topic))
                        .mapToLong(replica -> replica.getValue().size()).sum());
                entry.put("error", described.error() == null ? null : ClusterAdmin.messagesOf(described.error()));
            }
        }
        return found;
    }

    /** Count the topics with replicas there, including those this user may not describe. */
    static int topics(Admin admin, JsonNode request) throws Exception {
        Set<String> names = new HashSet<>();
        for (var broker : ask(admin, request).values()) {
            for (LogDirDescription dir : broker.get().values()) {
                dir.replicaInfos().keySet().forEach(replica -> names.add(replica.topic()));
            }
        }
        return names.size();
    }

    private static Map<Integer, KafkaFuture<Map<String, LogDirDescription>>> ask(Admin admin, JsonNode request)
            throws Exception {
        var nodes = admin.describeCluster(ClusterAdmin.within(new DescribeClusterOptions(), request)).nodes().get();
        List<Integer> brokers = nodes.stream().map(Node::id).toList();
        return admin.describeLogDirs(brokers, ClusterAdmin.within(new DescribeLogDirsOptions(), request)).descriptions();
    }
}
