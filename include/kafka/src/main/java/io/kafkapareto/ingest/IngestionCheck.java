package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kafkapareto.CommandLine;
import java.io.IOException;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.impl.Arguments;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Read a topic and a file, and count and hash the rows of both. Prints one JSON object.
 *
 * <p>Either is optional, because a file does not change between ingestions.
 */
public final class IngestionCheck {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration POLL = Duration.ofMillis(200);
    private static final long SILENCE_NS = 30_000_000_000L;

    private IngestionCheck() {}

    public static void main(String[] arguments) throws Exception {
        IngestionOptions.run(parser(), arguments, IngestionCheck::check);
    }

    private static ObjectNode check(Namespace options) throws IOException {
        ObjectNode found = JSON.createObjectNode();
        if (options.getString("file") != null) {
            CsvFile file = IngestionOptions.opened(options, "file");
            int[] keyColumns = file.columnsOf(options.getString("key"));
            if (file.encoding().equals("avro")) {
                found.put("avro_schema", file.avroSchema(IngestionOptions.schema(options)).toString());
            }
            if (!options.getBoolean("open_only")) {
                ofFile(file, keyColumns, found.putObject("file"));
            }
        }
        if (options.getString("topic") != null) {
            ofTopic(options, found.putObject("topic"));
        }
        return found;
    }

    static void ofFile(CsvFile file, int[] keyColumns, ObjectNode found) throws IOException {
        RowEncoder encoder = file.newEncoder();
        RowEncoder keys = file.newKeyEncoder(keyColumns);
        RowCheck check = file.newCheck();
        RowSums sums = new RowSums();
        long malformed = 0;
        long blank = 0;
        try (RowSource rows = RowReader.MAPPED.open(file.rows(), file.delimiter())) {
            while (rows.next()) {
                if (rows.isBlank()) {
                    blank++;
                    continue;
                }
                Fault fault = check.faultOf(rows.array(), rows.from(), rows.to());
                byte[] encoded = fault == null && encoder != null
                        ? encoder.encode(rows.array(), rows.from(), rows.to()) : null;
                byte[] key = fault == null && keys != null ? keys.encode(rows.array(), rows.from(), rows.to()) : null;
                int bytes = encoded == null ? rows.to() - rows.from() : encoded.length;
                if (fault != null || encoder != null && encoded == null || keys != null && key == null
                        || bytes + (key == null ? 0 : key.length) > file.mostRowBytes()) {
                    malformed++;
                } else if (encoded != null) {
                    sums.add(encoded, 0, bytes, key);
                } else {
                    sums.add(rows.array(), rows.from(), bytes, key);
                }
            }
        }
        found.put("rows", sums.rows()).put("bytes", sums.bytes()).put("malformed", malformed).put("blank_lines", blank)
                .put("hash", sums.hash());
    }

    private static void ofTopic(Namespace options, ObjectNode found) throws IOException {
        Properties properties = CommandLine.properties(options.getString("command_config"));
        properties.setProperty("fetch.min.bytes", "1048576");
        properties.setProperty("max.poll.records", "20000");
        properties.setProperty("max.partition.fetch.bytes", "4194304");
        properties.setProperty("enable.auto.commit", "false");
        RowSums sums = new RowSums();
        var bytes = new ByteArrayDeserializer();
        String topic = options.getString("topic");
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(properties, bytes, bytes)) {
            List<TopicPartition> partitions = consumer.partitionsFor(topic).stream()
                    .map(each -> new TopicPartition(topic, each.partition())).toList();
            Map<TopicPartition, Long> ends = consumer.endOffsets(partitions);
            consumer.assign(partitions);
            consumer.seekToBeginning(partitions);
            long[] from = IngestionOptions.fromOffsets(options);
            partitions.stream().filter(each -> each.partition() < from.length)
                    .forEach(each -> consumer.seek(each, from[each.partition()]));
            long[] read = new long[partitions.size()];
            boolean areKeyed = !options.getString("key").isEmpty();
            readTo(new HashMap<>(ends), consumer, new ByteLimit(options.getDouble("max_mib_s")), areKeyed, sums, read);
            found.put("rows", sums.rows()).put("bytes", sums.bytes()).put("hash", sums.hash());
            Arrays.stream(read).forEach(found.putArray("partitions")::add);
        }
    }

    private static void readTo(
            Map<TopicPartition, Long> ends, KafkaConsumer<byte[], byte[]> consumer, ByteLimit limit,
            boolean areKeyed, RowSums sums, long[] read) throws IOException {
        long lastNs = System.nanoTime();
        ends.entrySet().removeIf(each -> consumer.position(each.getKey()) >= each.getValue());
        while (!ends.isEmpty()) {
            ConsumerRecords<byte[], byte[]> polled = consumer.poll(POLL);
            for (ConsumerRecord<byte[], byte[]> each : polled) {
                byte[] value = each.value() == null ? new byte[0] : each.value();  // a tombstone is no row of the file
                limit.awaitRoomFor(value.length + Math.max(each.serializedKeySize(), 0));
                sums.add(value, 0, value.length, areKeyed ? each.key() : null);
                read[each.partition()]++;
            }
            if (!polled.isEmpty()) {
                lastNs = System.nanoTime();
            } else if (System.nanoTime() - lastNs > SILENCE_NS) {
                throw new IOException("no records arrived for 30 s; still to read: " + ends);
            }
            ends.entrySet().removeIf(each -> consumer.position(each.getKey()) >= each.getValue());
        }
    }

    static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("ingestion-check", true);
        parser.addArgument("--file").help("a CSV file with a header");
        parser.addArgument("--delimiter").setDefault(",");
        IngestionOptions.addEncoding(parser);
        IngestionOptions.addKey(parser);
        parser.addArgument("--most-row-bytes").type(Integer.class).setDefault(IngestionOptions.MOST_ROW_BYTES);
        parser.addArgument("--open-only").action(Arguments.storeTrue())
                .help("read only the file's first rows; of these, print only an Avro schema");
        parser.addArgument("--max-mib-s").type(Double.class).setDefault(0.0)
                .help("rate limit for reading the topic; 0 for none");
        parser.addArgument("--topic");
        IngestionOptions.addFromOffsets(parser);
        parser.addArgument("--command-config").help("a file of consumer properties");
        return parser;
    }
}
