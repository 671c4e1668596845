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
            if (!options.getBoolean("open_only")) {
                ofFile(file, found.putObject("file"));
            }
        }
        if (options.getString("topic") != null) {
            ofTopic(options, found.putObject("topic"));
        }
        return found;
    }

    static void ofFile(CsvFile file, ObjectNode found) throws IOException {
        RowEncoder encoder = file.newEncoder();
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
                boolean isSent = encoder == null || encoded != null && encoded.length <= file.mostRowBytes();
                if (fault != null || !isSent) {
                    malformed++;
                } else if (encoded != null) {
                    sums.add(encoded, 0, encoded.length);
                } else {
                    sums.add(rows.array(), rows.from(), rows.to() - rows.from());
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
            readTo(new HashMap<>(ends), consumer, new ByteLimit(options.getDouble("max_mib_s")), sums, read);
            found.put("rows", sums.rows()).put("bytes", sums.bytes()).put("hash", sums.hash());
            Arrays.stream(read).forEach(found.putArray("partitions")::add);
        }
    }

    private static void readTo(
            Map<TopicPartition, Long> ends, KafkaConsumer<byte[], byte[]> consumer, ByteLimit limit, RowSums sums,
            long[] read) throws IOException {
        long lastNs = System.nanoTime();
        ends.entrySet().removeIf(each -> consumer.position(each.getKey()) >= each.getValue());
        while (!ends.isEmpty()) {
            ConsumerRecords<byte[], byte[]> polled = consumer.poll(POLL);
            for (ConsumerRecord<byte[], byte[]> each : polled) {
                limit.awaitRoomFor(each.value().length + Math.max(each.serializedKeySize(), 0));
                sums.add(each.value(), 0, each.value().length);
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
        parser.addArgument("--most-row-bytes").type(Integer.class).setDefault(IngestionOptions.MOST_ROW_BYTES);
        parser.addArgument("--open-only").action(Arguments.storeTrue())
                .help("read only the file's first rows, without a result");
        parser.addArgument("--max-mib-s").type(Double.class).setDefault(0.0)
                .help("rate limit for reading the topic; 0 for none");
        parser.addArgument("--topic");
        IngestionOptions.addFromOffsets(parser);
        parser.addArgument("--command-config").help("a file of consumer properties");
        return parser;
    }
}
