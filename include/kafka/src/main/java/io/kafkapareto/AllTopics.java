package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.util.Collection;
import java.util.List;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartitionInfo;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;

/** Query all topics this user may describe; Kafka silently omits the others. */
final class AllTopics {
    private static final ObjectMapper JSON = new ObjectMapper();

    private AllTopics() {}

    /** Map the name of each topic with the prefix to its id; a recreated topic gets another id. */
    static ObjectNode ids(Admin admin, JsonNode request) throws Exception {
        ObjectNode found = JSON.createObjectNode();
        for (TopicListing topic : listed(admin, request)) {
            if (topic.name().startsWith(request.get("prefix").asText())) {
                found.put(topic.name(), topic.topicId().toString());
            }
        }
        return found;
    }

    /** Count the topics, and list those with a partition that lacks its leader or an in-sync replica. */
    static ObjectNode health(Admin admin, JsonNode request) throws Exception {
        List<String> names = listed(admin, request).stream().map(TopicListing::name).toList();
        var answers = admin.describeTopics(names, ClusterAdmin.within(new DescribeTopicsOptions(), request))
                .topicNameValues();
        ObjectNode health = JSON.createObjectNode().put("topics", names.size());
        ArrayNode troubled = health.putArray("troubled");
        for (KafkaFuture<TopicDescription> answer : answers.values()) {
            if (ClusterAdmin.failsWith(answer, UnknownTopicOrPartitionException.class)) {
                continue; // deleted after it was listed
            }
            TopicDescription topic = answer.get();
            long leaderless = topic.partitions().stream().filter(AllTopics::isLeaderless).count();
            long outOfSync = topic.partitions().stream()
                    .filter(partition -> partition.isr().size() < partition.replicas().size()).count();
            if (leaderless + outOfSync > 0) {
                troubled.addObject().put("topic", topic.name()).put("partitions", topic.partitions().size())
                        .put("leaderless", leaderless).put("out_of_sync", outOfSync);
            }
        }
        return health;
    }

    private static Collection<TopicListing> listed(Admin admin, JsonNode request) throws Exception {
        return admin.listTopics(ClusterAdmin.within(new ListTopicsOptions().listInternal(true), request)).listings()
                .get();
    }

    static boolean isLeaderless(TopicPartitionInfo partition) {
        return partition.leader() == null || partition.leader().isEmpty();
    }
}
