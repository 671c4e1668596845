package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Locale;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Sends the rows of a CSV file to a topic, each as a record's value, and counts what became of every one.
 *
 * <p>Rows that are none go to a topic of their own. A {@code --resumable} ingestion goes on where an earlier one of the
 * same file stopped: its records' keys hold where their rows begin in the file. The last line on stdout is one JSON
 * object; with {@code --progress} a line each second says how far it is.
 */
public final class Ingestion {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int PROGRESS_MS = 1_000;
    private static final int ENDING_S = 10;

    private final Namespace options;
    private final Properties properties = new Properties();
    private final String topic;

    private Ingestion(Namespace options) throws IOException {
        this.options = options;
        topic = options.getString("topic");
        try (Reader file = Files.newBufferedReader(Path.of(options.getString("command_config")))) {
            properties.load(file);
        }
        properties.setProperty("key.serializer", ByteArraySerializer.class.getName());
        properties.setProperty("value.serializer", ByteArraySerializer.class.getName());
        if (options.getBoolean("resumable") && options.getString("path").equals("producer")) {
            // The client has several batches of a partition in flight before one is stored, which may leave a hole.
            properties.setProperty(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, "1");
        }
    }

    public static void main(String[] arguments) throws Exception {
        ArgumentParser parser = IngestionOptions.parser();
        try {
            System.out.println(JSON.writeValueAsString(new Ingestion(parser.parseArgs(arguments)).run()));
        } catch (ArgumentParserException error) {
            parser.handleError(error);
            System.exit(2);
        } catch (Refused | ConfigException error) {
            System.err.println(error.getMessage());
            System.exit(Refused.EXIT_CODE);
        } catch (IOException | KafkaException error) {
            System.err.println(error);
            System.exit(2);
        }
    }

    private ObjectNode run() throws Exception {
        IngestionOptions.requireFitting(options, new ProducerConfig(properties));
        int mostRowBytes = options.getInt("most_row_bytes");
        byte delimiter = (byte) options.getString("delimiter").charAt(0);
        CsvFile file = CsvFile.open(
                Path.of(options.getString("file")), delimiter, options.getString("encoding"), mostRowBytes);
        boolean resumable = options.getBoolean("resumable");
        Partitioning partitioning = resumable ? new Partitioning(lastKeys(topic)) : null;
        String malformedTopic = topic + ".malformed";
        long lastMalformed = resumable ? Arrays.stream(lastKeys(malformedTopic)).max().orElse(-1) : -1;
        try (MalformedRows malformed = new MalformedRows(
                malformedTopic, properties, options.getDouble("tolerated_fraction"), resumable, lastMalformed,
                mostRowBytes)) {
            Job job = new Job(
                    file, RowReader.valueOf(options.getString("reader").toUpperCase(Locale.ROOT)),
                    Senders.of(options.getString("senders")), partitioning, malformed, new ReadCounts());
            return run(job, rangesOf(file, partitioning));
        }
    }

    private long[] lastKeys(String ofTopic) throws IOException {
        Properties client = new Properties();
        properties.forEach((name, value) -> {
            if (!ProducerConfig.configNames().contains((String) name)
                    || ConsumerConfig.configNames().contains((String) name)) {
                client.put(name, value);
            }
        });
        return Resumption.lastKeys(client, ofTopic);
    }

    /** Returns what each producer is to send: its share of this process's share of the rows. */
    private List<FileRange> rangesOf(CsvFile file, Partitioning partitioning) throws IOException {
        FileRange rows = file.rows();
        if (partitioning != null) {
            rows = rows.startingAt(partitioning.allBefore(rows.from()));
        }
        FileRange share = rows.split(options.getInt("processes")).get(options.getInt("process"));
        return share.split(options.getInt("producers"));
    }

    private ObjectNode run(Job job, List<FileRange> ranges) throws Exception {
        List<Instance> instances = new ArrayList<>();
        ByteLimit limit = new ByteLimit(options.getDouble("max_mib_s"));
        ExecutorService threads = Executors.newFixedThreadPool(ranges.size() + 1);
        try {
            for (FileRange each : ranges) {
                instances.add(new Instance(job, each, newSink(), limit));
            }
            JvmUse before = JvmUse.now();
            if (options.getBoolean("progress")) {
                threads.execute(() -> showProgress(job.counts(), instances, ranges, before));
            }
            List<Future<?>> running = new ArrayList<>();
            for (Instance each : instances) {
                running.add(threads.submit(() -> {
                    each.run();
                    return null;
                }));
            }
            for (Future<?> each : running) {
                each.get();
            }
            job.malformed().flush();
            return result(job, instances, before, JvmUse.now());
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        } finally {
            threads.shutdownNow();
            threads.awaitTermination(ENDING_S, TimeUnit.SECONDS);  // a line of progress may not come behind the result
            instances.forEach(each -> each.sink().close());
        }
    }

    private RowSink newSink() throws IOException {
        if (options.getString("path").equals("batches")) {
            return new BatchSink(properties, topic);
        }
        return new ProducerSink(properties, topic);
    }

    private static void showProgress(
            ReadCounts counts, List<Instance> instances, List<FileRange> ranges, JvmUse began) {
        long bytes = ranges.stream().mapToLong(FileRange::bytes).sum();
        try {
            while (true) {
                Thread.sleep(PROGRESS_MS);
                ObjectNode progress = JSON.createObjectNode()
                        .put("rows_acknowledged", instances.stream().mapToLong(each -> each.sink().acknowledgedRows()).sum())
                        .put("rows_skipped", counts.skippedRows().sum())
                        .put("bytes_read", counts.bytes().sum())
                        .put("bytes", bytes)
                        .put("elapsed_s", (System.nanoTime() - began.atNs()) / 1e9);
                System.out.println(progress);
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        }
    }

    private ObjectNode result(Job job, List<Instance> instances, JvmUse before, JvmUse after) {
        ObjectNode result = JSON.createObjectNode();
        String failed = instances.stream().map(each -> each.sink().failure()).filter(each -> !each.isEmpty())
                .findFirst().orElse(null);
        long read = job.counts().rows().sum();
        long[] acknowledged = new long[0];
        for (Instance each : instances) {
            acknowledged = each.sink().addAcknowledged(acknowledged);
        }
        long total = Arrays.stream(acknowledged).sum();
        MalformedRows malformed = job.malformed();
        if (failed == null && malformed.areTooMany()) {
            failed = malformed.total() + " of " + read + " rows are malformed (lines: " + malformed.lines()
                    + "), more than is tolerated; the first is " + malformed.first();
        } else if (failed == null && read != total + malformed.total()) {
            failed = read - total - malformed.total() + " of " + read + " rows were not acknowledged";
        }
        result.put("failure", failed)
                .put("is_file_at_fault", malformed.areTooMany())
                .put("rows_read", read)
                .put("rows_skipped", job.counts().skippedRows().sum())
                .put("rows_acknowledged", total)
                .put("rows_malformed", malformed.total())
                .put("bytes_acknowledged", instances.stream().mapToLong(each -> each.sink().acknowledgedBytes()).sum());
        malformed.describe(result.putObject("malformed"));
        result.put("first_malformed", malformed.first());
        JvmUse.describe(before, after, result);
        if (job.senders().endThreads() && !JvmUse.countsEndedThreads()) {
            result.putNull("allocated_bytes");
        }
        result.put("reading_cpu_s", instances.stream().mapToLong(Instance::readingCpuNs).sum() / 1e9);
        Arrays.stream(acknowledged).forEach(result.putArray("partitions")::add);
        instances.forEach(each -> each.sink().describe(result.withArray("sinks").addObject()));
        return result;
    }
}
