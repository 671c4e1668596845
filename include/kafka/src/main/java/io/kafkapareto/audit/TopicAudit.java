package io.kafkapareto.audit;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kafkapareto.CommandLine;
import io.kafkapareto.SampledRecords;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.concurrent.ExecutionException;
import java.util.function.ToLongFunction;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterOptions;
import org.apache.kafka.clients.admin.DescribeTopicsOptions;
import org.apache.kafka.clients.admin.ListTopicsOptions;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.clients.admin.TopicListing;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.record.internal.RecordBatch;

/**
 * Reads the latest batches of topics and describes them, without a group, a commit or a write.
 *
 * <p>The request is one JSON object on stdin; each topic's description is one line on stdout, or its {@code error}.
 * With a {@code history} above 1, a topic has a line per sample, oldest first: the time of its records is divided into
 * that many equal periods, and a sample is read at the end of each, without codec trials.
 */
public final class TopicAudit {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final List<Integer> TRIAL_BYTES = List.of(64 << 10, 256 << 10, 1 << 20);
    private static final long BYTES_PER_TRIAL = 2L << 20;
    private static final int MOST_PRODUCERS = 100;
    private static final int TIMEOUT_MS = 15_000;
    private static final long DAY_MS = 24 * 3600 * 1000L;
    private static final long MAX_SAMPLE_FILE_BYTES = 12L << 20;

    private final Admin admin;
    private final BatchReader reader;
    private final TopicSample.Limits limits;
    private final JsonNode whatIfs;
    private final Path sampleFile;
    private final int history;

    private TopicAudit(Admin admin, BatchReader reader, JsonNode request) {
        this.admin = admin;
        this.reader = reader;
        limits = new TopicSample.Limits(request.get("records").asLong(), request.get("bytes").asLong(),
                request.get("seconds").asDouble());
        whatIfs = request.get("what_if");
        history = request.get("history").asInt();
        sampleFile = request.hasNonNull("sample_file") ? Path.of(request.get("sample_file").asText()) : null;
    }

    public static void main(String[] arguments) throws Exception {
        JsonNode request = JSON.readTree(System.in);
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Properties properties = request.hasNonNull("client_config")
                ? CommandLine.properties(request.get("client_config").asText()) : new Properties();
        properties.put(AdminClientConfig.BOOTSTRAP_SERVERS_CONFIG, request.get("bootstrap_servers").asText());
        try (Admin admin = Admin.create(properties); BatchReader reader = new BatchReader(properties)) {
            TopicAudit audit = new TopicAudit(admin, reader, request);
            List<String> topics = audit.topics(request.get("topics"));
            answers.println(JSON.writeValueAsString(Map.of("topics", topics)));
            for (String topic : topics) {
                audit.describe(topic, answers);
            }
        }
    }

    /** Return the named topics; without names all that this user may describe, except Kafka's own. */
    private List<String> topics(JsonNode named) throws Exception {
        if (named.isEmpty()) {
            return admin.listTopics(new ListTopicsOptions().timeoutMs(TIMEOUT_MS)).listings().get().stream().filter(each -> !each.isInternal())
                    .map(TopicListing::name).sorted().toList();
        }
        // Otherwise each topic would report that the cluster cannot be reached.
        admin.describeCluster(new DescribeClusterOptions().timeoutMs(TIMEOUT_MS)).clusterId().get();
        List<String> topics = new ArrayList<>();
        named.forEach(each -> topics.add(each.asText()));
        return topics;
    }

    private void describe(String name, PrintStream answers) throws Exception {
        try {
            TopicDescription topic = admin.describeTopics(
                    List.of(name), new DescribeTopicsOptions().timeoutMs(TIMEOUT_MS)).allTopicNames().get().get(name);
            long sinceMs = 0;
            for (long timeMs : TopicSample.times(admin, topic, history)) {
                // The latest sample is the same with and without a history.
                long fromMs = timeMs == TopicSample.LATEST ? 0 : sinceMs;
                answers.println(JSON.writeValueAsString(described(topic, fromMs, timeMs)));
                sinceMs = timeMs;
            }
        } catch (Exception | OutOfMemoryError failure) { // the other topics are still read
            Throwable cause = failure instanceof ExecutionException ? failure.getCause() : failure;
            answers.println(JSON.writeValueAsString(JSON.createObjectNode().put("topic", name)
                    .put("error", cause.getClass().getSimpleName() + ": " + cause.getMessage())));
        }
    }

    private ObjectNode described(TopicDescription topic, long sinceMs, long timeMs) throws Exception {
        TopicSample sample = TopicSample.read(admin, reader, topic, limits, sinceMs, timeMs);
        Config settings = settings(topic.name());
        String compressionType = value(settings, "compression.type");
        ObjectNode found = JSON.createObjectNode().put("topic", topic.name()).put("partitions", topic.partitions().size())
                .put("replicas", topic.partitions().get(0).replicas().size())
                .put("compression_type", compressionType)
                .put("timestamp_type", value(settings, "message.timestamp.type"))
                .put("min_insync_replicas", value(settings, "min.insync.replicas"))
                .put("retention_ms", value(settings, "retention.ms"))
                .put("read_bytes", sample.readBytes()).put("is_cut", sample.isCut());
        if (sample.batches().isEmpty()) {
            return found.putNull("sample");
        }
        Long recordsDay = history > 1 ? null : recordsOfLastDay(topic);
        sampled(found.putObject("sample").put("records_day", recordsDay), topic, compressionType, sample.batches());
        if (sampleFile != null) {
            SampledRecords.write(sampleFile, inOrderOfTime(sample.batches()), MAX_SAMPLE_FILE_BYTES);
        }
        return found;
    }

    private static List<SampledRecords.Sampled> inOrderOfTime(List<StoredBatch> batches) {
        return batches.stream().flatMap(batch -> batch.records().stream())
                .map(each -> new SampledRecords.Sampled(each.timestampMs(), each.key(), each.value(), List.of(each.headers())))
                .sorted(Comparator.comparingLong(SampledRecords.Sampled::timestampMs))
                .toList();
    }

    private void sampled(
            ObjectNode found, TopicDescription topic, String compressionType, List<StoredBatch> batches) throws Exception {
        List<StoredBatch.Sent> records = batches.stream().flatMap(each -> each.records().stream()).toList();
        found.put("records", records.size()).put("batches", batches.size())
                .put("stored_bytes", sum(batches, StoredBatch::bytes))
                .put("payload_bytes", sum(records, StoredBatch.Sent::bytes))
                .put("keyed", records.stream().filter(each -> each.key() != null).count())
                .put("first_ms", records.stream().mapToLong(StoredBatch.Sent::timestampMs).min().getAsLong())
                .put("last_ms", records.stream().mapToLong(StoredBatch.Sent::timestampMs).max().getAsLong());
        sizes(found.putObject("sizes"), batches, records);
        found.set("codecs", JSON.valueToTree(batches.stream().collect(Collectors.groupingBy(
                StoredBatch::codec, TreeMap::new, Collectors.counting()))));
        found.set("records_of_partition", JSON.valueToTree(batches.stream().collect(Collectors.groupingBy(
                StoredBatch::partition, TreeMap::new, Collectors.summingLong(each -> each.records().size())))));
        late(found, batches);
        producers(found, batches);
        ArrayNode trials = found.putArray("trials");
        if (history == 1) {
            CodecTrials.of(batches, TRIAL_BYTES, BYTES_PER_TRIAL).forEach(each -> trials.addObject()
                    .put("codec", each.codec()).put("batch_bytes", each.batchBytes())
                    .put("uncompressed_bytes", each.uncompressedBytes()).put("bytes", each.bytes())
                    .put("cpu_ns_per_byte", each.cpuNsPerByte()));
        }
        replay(found.putObject("replay"), topic, compressionType, batches);
    }

    /** Return how many records have a time in the last 24 hours; null if records of that time are deleted. */
    private Long recordsOfLastDay(TopicDescription topic) throws Exception {
        List<TopicPartition> partitions = TopicSample.readable(topic);
        var begins = TopicSample.offsets(admin, partitions, OffsetSpec.earliest());
        var ends = TopicSample.offsets(admin, partitions, OffsetSpec.latest());
        var dayAgo = TopicSample.offsets(admin, partitions, OffsetSpec.forTimestamp(
                System.currentTimeMillis() - DAY_MS));
        long records = 0;
        for (TopicPartition partition : partitions) {
            long since = dayAgo.get(partition) < 0 ? ends.get(partition) : dayAgo.get(partition);
            boolean isEmpty = begins.get(partition) >= ends.get(partition);
            if (since <= begins.get(partition) && begins.get(partition) > 0 && !isEmpty) {
                return null;
            }
            records += ends.get(partition) - since;
        }
        return records;
    }

    private Config settings(String topic) throws InterruptedException {
        ConfigResource resource = new ConfigResource(ConfigResource.Type.TOPIC, topic);
        try {
            return admin.describeConfigs(List.of(resource)).all().get().get(resource);
        } catch (ExecutionException notPermitted) {
            return new Config(List.of());
        }
    }

    private static String value(Config settings, String name) {
        ConfigEntry entry = settings.get(name);
        return entry == null ? null : entry.value();
    }

    private static void sizes(ObjectNode found, List<StoredBatch> batches, List<StoredBatch.Sent> records) {
        found.set("key_bytes", quantiles(records, StoredBatch.Sent::keyBytes));
        found.set("value_bytes", quantiles(records, StoredBatch.Sent::valueBytes));
        found.set("header_bytes", quantiles(records, StoredBatch.Sent::headerBytes));
        found.set("batch_bytes", quantiles(batches, StoredBatch::bytes));
        found.set("batch_records", quantiles(batches, each -> each.records().size()));
    }

    private static <T> ObjectNode quantiles(Collection<T> each, ToLongFunction<T> value) {
        long[] sorted = each.stream().mapToLong(value).sorted().toArray();
        return JSON.createObjectNode().put("p50", sorted[(sorted.length - 1) / 2])
                .put("p95", sorted[(int) Math.ceil(0.95 * sorted.length) - 1])
                .put("largest", sorted[sorted.length - 1]);
    }

    /** Count the records whose time is before an earlier record's of the same partition, and how far at most. */
    private static void late(ObjectNode found, List<StoredBatch> batches) {
        Map<Integer, Long> newest = new TreeMap<>();
        long late = 0;
        long latestBy = 0;
        for (StoredBatch batch : batches.stream().sorted(Comparator.comparingLong(StoredBatch::offset)).toList()) {
            for (StoredBatch.Sent record : batch.records()) {
                long before = newest.getOrDefault(batch.partition(), Long.MIN_VALUE);
                late += record.timestampMs() < before ? 1 : 0;
                latestBy = Math.max(latestBy, record.timestampMs() < before ? before - record.timestampMs() : 0);
                newest.put(batch.partition(), Math.max(before, record.timestampMs()));
            }
        }
        found.put("late", late).put("late_by_ms", latestBy);
    }

    private static void producers(ObjectNode found, List<StoredBatch> batches) {
        Map<Long, List<StoredBatch>> byProducer = batches.stream().collect(
                Collectors.groupingBy(StoredBatch::producerId, TreeMap::new, Collectors.toList()));
        found.put("producer_count", byProducer.size());
        ArrayNode producers = found.putArray("producers");
        Comparator<Map.Entry<Long, List<StoredBatch>>> newestFirst = Comparator.comparingLong(each -> -lastMs(each.getValue()));
        byProducer.entrySet().stream().sorted(newestFirst).limit(MOST_PRODUCERS).forEach(each -> {
            List<StoredBatch> sent = each.getValue();
            ObjectNode producer = producers.addObject().put("batches", sent.size())
                    .put("records", sum(sent, batch -> batch.records().size())).put("bytes", sum(sent, StoredBatch::bytes))
                    .put("is_transactional", sent.stream().anyMatch(StoredBatch::isTransactional))
                    .put("last_ms", lastMs(sent));
            if (each.getKey() == RecordBatch.NO_PRODUCER_ID) {
                producer.putNull("id").putNull("epoch");
            } else {
                producer.put("id", each.getKey()).put("epoch", sent.get(sent.size() - 1).producerEpoch());
            }
            producer.set("codecs", JSON.valueToTree(sent.stream().map(StoredBatch::codec).distinct().sorted().toList()));
        });
    }

    private static long lastMs(List<StoredBatch> batches) {
        return batches.stream().mapToLong(StoredBatch::lastTimestampMs).max().getAsLong();
    }

    /**
     * Find the settings that explain the stored batches, and send the records again under others.
     *
     * <p>A broker recompresses if the topic has a codec of its own, whatever the producers' is.
     */
    private void replay(ObjectNode replay, TopicDescription topic, String compressionType, List<StoredBatch> batches)
            throws Exception {
        TopicModel model = new TopicModel(topic, batches);
        replay.put("fault", model.fault()).put("has_event_times", model.hasEventTimes());
        if (!model.fault().isEmpty()) {
            return;
        }
        boolean isRecompressed = compressionType != null && !compressionType.equals("producer");
        Codec present = new Codec(batches.get(batches.size() / 2).codec(), null);
        TopicModel.Fit fit = model.fit(present);
        replay.put("client", fit.client().name().toLowerCase(Locale.ROOT));
        replay.putObject("settings").put("batch.size", fit.batchSize()).put("linger.ms", fit.lingerMs())
                .put("compression.type", present.name());
        replay.set("producers", JSON.valueToTree(model.producers()));
        ArrayNode stored = replay.putArray("stored");
        batches.forEach(each -> batch(stored, each.lastTimestampMs(), each.records().size(), each.bytes()));
        ArrayNode sent = replay.putArray("sent");
        sent(sent.addObject(), model.send(fit, present));
        for (JsonNode whatIf : whatIfs) {
            String codec = whatIf.path("compression.type").asText(present.name());
            JsonNode level = whatIf.path("compression." + codec + ".level");
            sent(sent.addObject(), model.send(
                    new TopicModel.Fit(fit.client(), whatIf.path("batch.size").asInt(fit.batchSize()),
                            whatIf.path("linger.ms").asInt(fit.lingerMs())),
                    isRecompressed ? present : new Codec(codec, level.isMissingNode() ? null : level.asInt())));
        }
    }

    private static void sent(ObjectNode sent, List<ReplayedProducer.Outcome> outcomes) {
        sent.put("requests", outcomes.stream().mapToInt(ReplayedProducer.Outcome::requests).sum());
        sent.set("batches_of_producers", JSON.valueToTree(outcomes.stream().map(each -> each.batches().size()).toList()));
        ArrayNode batches = sent.putArray("batches");
        outcomes.forEach(each -> each.batches().forEach(
                batch -> batch(batches, batch.lastTimestampMs(), batch.records(), batch.bytes())));
    }

    private static void batch(ArrayNode batches, long lastMs, int records, int bytes) {
        batches.addObject().put("last_ms", lastMs).put("records", records).put("bytes", bytes);
    }

    private static <T> long sum(Collection<T> each, ToLongFunction<T> value) {
        return each.stream().mapToLong(value).sum();
    }
}
