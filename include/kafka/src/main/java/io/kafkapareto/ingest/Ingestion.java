package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import io.kafkapareto.CommandLine;
import java.io.IOException;
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
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.consumer.ConsumerConfig;
import org.apache.kafka.clients.producer.ProducerConfig;

/**
 * Send the rows of a CSV file to a topic, each as a record's value, and count every row's outcome.
 *
 * <p>Malformed rows go to a dead-letter topic. A {@code --resumable} ingestion resumes an earlier one of the same file:
 * its records hold their rows' file offsets, in the key, or in a header if columns of the row are the key. The last line on stdout is one JSON object; {@code --progress} names
 * a file for one line of progress, overwritten each second.
 *
 * <p>With {@code --warmup-file} the rows of another file are sent first, in the same way to a separate topic, so the
 * code is compiled before the time of {@code --file} starts. Its result is in {@code warmup}.
 */
public final class Ingestion {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int PROGRESS_MS = 1_000;
    private static final int MOST_SLICES = 14_400;  // one hour: a file may take days, but the result is one line
    private static final int ENDING_S = 10;
    private static final double NS_PER_S = 1e9;
    private static final int MEETING_POLL_MS = 1;
    private static final long MEETING_TIMEOUT_NS = 300_000_000_000L;

    private final Namespace options;
    private final Properties properties;

    private Ingestion(Namespace options) throws IOException {
        this.options = options;
        properties = CommandLine.producerProperties(options.getString("command_config"));
        if (options.getBoolean("resumable") && options.getString("path").equals("producer")) {
            // The client has several batches of a partition in flight, so a failure may leave a gap.
            properties.setProperty(ProducerConfig.MAX_IN_FLIGHT_REQUESTS_PER_CONNECTION, "1");
        }
    }

    public static void main(String[] arguments) throws Exception {
        IngestionOptions.run(IngestionOptions.parser(), arguments, options -> new Ingestion(options).run());
    }

    private ObjectNode run() throws Exception {
        IngestionOptions.requireFitting(options, new ProducerConfig(properties));
        CsvFile file = IngestionOptions.opened(options, "file");
        ObjectNode warmup = null;
        if (options.getString("warmup_file") != null) {
            warmup = send(IngestionOptions.opened(options, "warmup_file"), options.getString("warmup_topic"), true);
            if (!warmup.get("failure").isNull()) {
                throw new IOException("the warm-up failed: " + warmup.get("failure").asText());
            }
        }
        ObjectNode result = send(file, options.getString("topic"), false);
        result.set("warmup", warmup);
        return result;
    }

    private ObjectNode send(CsvFile file, String topic, boolean isWarmup) throws Exception {
        boolean resumable = options.getBoolean("resumable");
        long[] from = IngestionOptions.fromOffsets(options);
        long[] malformedFrom = {options.getLong("malformed_from_offset")};
        int[] keyColumns = file.columnsOf(options.getString("key"));
        boolean areKeyed = keyColumns.length > 0;
        Partitioning partitioning = resumable ? new Partitioning(lastRows(topic, from, areKeyed)) : null;
        String malformedTopic = topic + ".malformed";
        long lastMalformed =
                resumable ? Arrays.stream(lastRows(malformedTopic, malformedFrom, false)).max().orElse(-1) : -1;
        double tolerated = isWarmup ? Double.POSITIVE_INFINITY : options.getDouble("tolerated_fraction");
        try (MalformedRows malformed = new MalformedRows(
                malformedTopic, properties, tolerated, resumable, lastMalformed, file.mostRowBytes())) {
            Job job = new Job(
                    file, RowReader.valueOf(options.getString("reader").toUpperCase(Locale.ROOT)),
                    Senders.of(options.getString("senders")), partitioning, keyColumns,
                    () -> lastRows(topic, from, areKeyed), malformed, new ReadCounts());
            return run(job, topic, rangesOf(file, partitioning, isWarmup), isWarmup);
        }
    }

    private long[] lastRows(String ofTopic, long[] from, boolean areKeyed) throws IOException {
        Properties client = new Properties();
        properties.forEach((name, value) -> {
            if (!ProducerConfig.configNames().contains((String) name)
                    || ConsumerConfig.configNames().contains((String) name)) {
                client.put(name, value);
            }
        });
        return Resumption.lastRows(client, ofTopic, from, areKeyed);
    }

    /** Return each producer's share of this process's rows; in the warm-up each sends all rows. */
    private List<FileRange> rangesOf(CsvFile file, Partitioning partitioning, boolean isWarmup) throws IOException {
        FileRange rows = file.rows();
        if (partitioning != null) {
            rows = rows.startingAt(partitioning.allBefore(rows.from()));
        }
        FileRange share = isWarmup ? rows : rows.split(options.getInt("processes")).get(options.getInt("process"));
        return share.split(options.getInt("producers"));
    }

    private ObjectNode run(Job job, String topic, List<FileRange> ranges, boolean isWarmup) throws Exception {
        List<Instance> instances = new ArrayList<>();
        ByteLimit limit = new ByteLimit(options.getDouble("max_mib_s"));
        PaceBySlice pace = new PaceBySlice(() -> acknowledgedRows(instances), MOST_SLICES);
        ExecutorService threads = Executors.newFixedThreadPool(ranges.size() + 2);
        try {
            for (FileRange each : ranges) {
                instances.add(new Instance(job, each, newSink(topic), limit));
            }
            if (!isWarmup) {
                awaitOthers();
            }
            JvmUse before = JvmUse.now();
            threads.execute(pace);
            if (options.getString("progress") != null && !isWarmup) {
                Path shown = Path.of(options.getString("progress"));
                threads.execute(() -> showProgress(shown, job.counts(), instances, ranges, before));
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
            ObjectNode result = result(job, instances, before, JvmUse.now());
            result.put("slice_s", PaceBySlice.SLICE_NS / NS_PER_S);
            pace.soFar().forEach(result.putArray("rows_s_by_slice")::add);
            return result;
        } catch (ExecutionException error) {
            throw error.getCause() instanceof Exception cause ? cause : error;
        } finally {
            threads.shutdownNow();
            threads.awaitTermination(ENDING_S, TimeUnit.SECONDS);
            instances.forEach(each -> each.sink().close());
        }
    }

    /** Wait until all processes of this ingestion are ready: each creates a file in the meeting folder. */
    private void awaitOthers() throws IOException, InterruptedException {
        String meeting = options.getString("meeting");
        if (meeting == null) {
            return;
        }
        Files.createFile(Path.of(meeting, String.valueOf(options.getInt("process"))));
        long beganNs = System.nanoTime();
        while (Path.of(meeting).toFile().list().length < options.getInt("processes")) {
            if (System.nanoTime() - beganNs > MEETING_TIMEOUT_NS) {
                throw new IOException("the other processes of this ingestion were not ready within five minutes");
            }
            Thread.sleep(MEETING_POLL_MS);
        }
    }

    private RowSink newSink(String topic) throws IOException {
        return options.getString("path").equals("batches")
                ? new BatchSink(properties, topic, !options.getString("key").isEmpty())
                : new ProducerSink(properties, topic);
    }

    private static long acknowledgedRows(List<Instance> instances) {
        return instances.stream().mapToLong(each -> each.sink().acknowledgedRows()).sum();
    }

    private static void showProgress(
            Path shown, ReadCounts counts, List<Instance> instances, List<FileRange> ranges, JvmUse began) {
        long bytes = ranges.stream().mapToLong(FileRange::bytes).sum();
        try {
            while (true) {
                Thread.sleep(PROGRESS_MS);
                ObjectNode progress = JSON.createObjectNode()
                        .put("rows_acknowledged", acknowledgedRows(instances))
                        .put("rows_skipped", counts.skippedRows().sum())
                        .put("bytes_read", counts.bytes().sum())
                        .put("bytes", bytes)
                        .put("elapsed_s", (System.nanoTime() - began.atNs()) / NS_PER_S);
                Files.writeString(shown, progress + "\n");
            }
        } catch (InterruptedException ended) {
            Thread.currentThread().interrupt();
        } catch (IOException unseen) {
            // Sending continues without it.
        }
    }

    private ObjectNode result(Job job, List<Instance> instances, JvmUse before, JvmUse after) {
        ObjectNode result = JSON.createObjectNode();
        String failed = instances.stream().map(each -> each.sink().failure()).filter(each -> !each.isEmpty())
                .findFirst().orElse(null);
        long read = job.counts().rows().sum();
        long[] acknowledged = instances.stream().map(each -> each.sink().acknowledged()).reduce((sums, more) -> {
            Arrays.setAll(sums, partition -> sums[partition] + more[partition]);
            return sums;
        }).orElseThrow();
        long total = Arrays.stream(acknowledged).sum();
        MalformedRows malformed = job.malformed();
        boolean isFileAtFault = failed == null && malformed.areTooMany();
        if (isFileAtFault) {
            failed = "too many malformed rows: " + malformed.total() + " of " + read + " (lines: " + malformed.lines()
                    + "); the first: " + malformed.first();
        } else if (failed == null && read != total + malformed.total()) {
            failed = read - total - malformed.total() + " of " + read + " rows were not acknowledged";
        }
        result.put("failure", failed)
                .put("is_file_at_fault", isFileAtFault)
                .put("rows_read", read)
                .put("rows_skipped", job.counts().skippedRows().sum())
                .put("rows_acknowledged", total)
                .put("rows_malformed", malformed.total())
                .put("resumptions", instances.stream().mapToInt(Instance::resumptions).sum())
                .put("bytes_acknowledged", instances.stream().mapToLong(each -> each.sink().acknowledgedBytes()).sum());
        malformed.describe(result.putObject("malformed"));
        result.put("first_malformed", malformed.first());
        JvmUse.describe(before, after, result);
        if (job.senders().endThreads() && !JvmUse.countsEndedThreads()) {
            result.putNull("allocated_bytes");
        }
        result.put("reading_cpu_s", instances.stream().mapToLong(Instance::readingCpuNs).sum() / NS_PER_S);
        Arrays.stream(acknowledged).forEach(result.putArray("partitions")::add);
        instances.forEach(each -> each.sink().describe(result.withArray("sinks").addObject()));
        return result;
    }
}
