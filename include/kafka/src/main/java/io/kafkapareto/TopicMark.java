package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Duration;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.CreateTopicsOptions;
import org.apache.kafka.clients.admin.CreateTopicsResult;
import org.apache.kafka.clients.admin.DeleteTopicsOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicCollection;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.errors.AuthorizationException;
import org.apache.kafka.common.errors.TopicExistsException;
import org.apache.kafka.common.errors.UnknownTopicIdException;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.errors.UnsupportedVersionException;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/**
 * A topic used as a mark: only one of several concurrent creators gets its id, and deletion requires that id.
 *
 * <p>Its one partition holds its creator's records.
 */
final class TopicMark implements AutoCloseable {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final Properties connection;
    private KafkaProducer<String, String> producer;

    TopicMark(Properties connection) {
        this.connection = connection;
    }

    @Override
    public void close() {
        if (producer != null) {
            producer.close(Duration.ZERO);
        }
    }

    /** Return the id of the topic this call created, empty for a dry run; null if the topic exists. */
    static String make(Admin admin, JsonNode request) throws Exception {
        String name = ClusterAdmin.topicOf(request);
        CreateTopicsOptions options = ClusterAdmin.within(new CreateTopicsOptions(), request)
                .validateOnly(request.get("only_asks").asBoolean());
        var made = admin.createTopics(List.of(ClusterAdmin.newTopic(request, 1)), options);
        if (ClusterAdmin.failsWith(made.values().get(name), TopicExistsException.class)) {
            return null;
        }
        return options.shouldValidateOnly() ? "" : idOf(made, name, admin);
    }

    /** Return the mark's id; remove a mark without one, because deletion needs the id. */
    private static String idOf(CreateTopicsResult made, String name, Admin admin) throws Exception {
        try {
            Uuid id = made.topicId(name).get();
            if (id.equals(Uuid.ZERO_UUID)) {
                throw new UnsupportedVersionException("these brokers do not assign topic ids");
            }
            return id.toString();
        } catch (ExecutionException | UnsupportedVersionException noId) {
            admin.deleteTopics(List.of(name)).all().get();
            throw noId;
        }
    }

    /** Return the topic's current id, or null if it does not exist. */
    static String id(Admin admin, JsonNode request) throws Exception {
        String name = ClusterAdmin.topicOf(request);
        var described = admin.describeTopics(List.of(name), ClusterAdmin.within(new DescribeTopicsOptions(), request))
                .topicNameValues().get(name);
        boolean isAbsent = ClusterAdmin.failsWith(described, UnknownTopicOrPartitionException.class);
        return isAbsent ? null : described.get().topicId().toString();
    }

    /** Delete the topic with this id; a later one of the same name stays. */
    static String delete(Admin admin, JsonNode request) throws Exception {
        var ids = TopicCollection.ofTopicIds(List.of(Uuid.fromString(request.get("topic_id").asText())));
        var deleted = admin.deleteTopics(ids, ClusterAdmin.within(new DeleteTopicsOptions(), request)).all();
        return ClusterAdmin.failsWith(deleted, UnknownTopicIdException.class, UnknownTopicOrPartitionException.class)
                ? "absent" : "deleted";
    }

    /** Append a record, and wait until all in-sync replicas have it. */
    long append(JsonNode request) throws Exception {
        int timeoutMs = request.get("timeout_ms").asInt() / 2; // sending may block as long as the reply may take
        if (producer == null) {
            Properties properties = client(StringSerializer.class, ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG,
                    ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG);
            properties.put(ProducerConfig.ACKS_CONFIG, "all");
            properties.put(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG, "false"); // idempotence needs another permission
            properties.put(ProducerConfig.LINGER_MS_CONFIG, "0");
            properties.put(ProducerConfig.BUFFER_MEMORY_CONFIG, String.valueOf(1 << 20));
            properties.put(ProducerConfig.REQUEST_TIMEOUT_MS_CONFIG, String.valueOf(timeoutMs));
            properties.put(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, String.valueOf(timeoutMs));
            properties.put(ProducerConfig.MAX_BLOCK_MS_CONFIG, String.valueOf(timeoutMs));
            producer = new KafkaProducer<>(properties);
        }
        var record = new ProducerRecord<String, String>(ClusterAdmin.topicOf(request), request.get("value").asText());
        return producer.send(record).get(timeoutMs, TimeUnit.MILLISECONDS).offset();
    }

    /** Return the partition's end and its last record, null if it has none. */
    ObjectNode last(JsonNode request) {
        Duration patience = Duration.ofMillis(request.get("timeout_ms").asInt() / 3); // for each of three requests
        Properties properties = client(StringDeserializer.class, ConsumerConfig.KEY_DESERIALIZER_CLASS_CONFIG,
                ConsumerConfig.VALUE_DESERIALIZER_CLASS_CONFIG);
        properties.put(ConsumerConfig.ALLOW_AUTO_CREATE_TOPICS_CONFIG, "false");
        var partition = new TopicPartition(ClusterAdmin.topicOf(request), 0);
        try (var consumer = new KafkaConsumer<String, String>(properties)) {
            consumer.assign(List.of(partition));
            long end = consumer.endOffsets(List.of(partition), patience).get(partition);
            ObjectNode found = JSON.createObjectNode().put("end_offset", end).put("value", (String) null);
            if (end > consumer.beginningOffsets(List.of(partition), patience).get(partition)) {
                consumer.seek(partition, end - 1);
                found.put("value", read(consumer, partition, patience));
            }
            return found;
        }
    }

    /** Return null if this user may not read: the end offset alone shows renewals of the mark. */
    private static String read(KafkaConsumer<String, String> consumer, TopicPartition partition, Duration patience) {
        try {
            var records = consumer.poll(patience).records(partition);
            return records.isEmpty() ? null : records.get(records.size() - 1).value();
        } catch (AuthorizationException refused) {
            return null;
        }
    }

    private Properties client(Class<?> serialization, String... keys) {
        Properties properties = (Properties) connection.clone();
        for (String key : keys) {
            properties.put(key, serialization.getName());
        }
        return properties;
    }
}
