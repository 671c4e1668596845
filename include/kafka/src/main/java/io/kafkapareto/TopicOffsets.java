package io.kafkapareto;

import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.common.TopicPartition;

/** Query the first and end offsets of a topic's partitions. */
final class TopicOffsets implements AutoCloseable {
    private final Admin admin;
    private final List<TopicPartition> partitions;

    TopicOffsets(Properties client, String topic) throws ExecutionException, InterruptedException {
        admin = Admin.create(client);
        try {
            partitions = admin.describeTopics(List.of(topic)).allTopicNames().get().get(topic).partitions().stream()
                    .map(each -> new TopicPartition(topic, each.partition())).toList();
        } catch (ExecutionException | InterruptedException | RuntimeException failure) {
            admin.close();
            throw failure;
        }
    }

    List<TopicPartition> partitions() {
        return partitions;
    }

    Map<TopicPartition, Long> begins() throws ExecutionException, InterruptedException {
        return ask(OffsetSpec.earliest());
    }

    Map<TopicPartition, Long> ends() throws ExecutionException, InterruptedException {
        return ask(OffsetSpec.latest());
    }

    private Map<TopicPartition, Long> ask(OffsetSpec which) throws ExecutionException, InterruptedException {
        return admin.listOffsets(partitions.stream().collect(Collectors.toMap(Function.identity(), each -> which)))
                .all().get().entrySet().stream()
                .collect(Collectors.toMap(Map.Entry::getKey, entry -> entry.getValue().offset()));
    }

    @Override
    public void close() {
        admin.close();
    }
}
