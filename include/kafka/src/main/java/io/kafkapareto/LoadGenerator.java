package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.InputStream;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A load on one topic that hides no waiting: first as fast as it goes, for the throughput, then at a fixed rate, for
 * the latency, which counts from the moment at which each record was to be sent.
 *
 * <p>Latency from {@code send()} alone omits whatever a blocked {@code send()} kept waiting (coordinated omission: Gil
 * Tene, How NOT to Measure Latency). Either part has a producer of its own, with its own warm-up, and may be left out.
 * The last line on stdout is one JSON object; times in it are microseconds unless the name says otherwise.
 */
public final class LoadGenerator {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Duration CLOSE_TIMEOUT = Duration.ofSeconds(30);
    private static final int OUTPUT_FORMAT = 1;
    /** A configuration that cannot keep up works off its backlog for this many times the planned time, no longer. */
    private static final int LONGEST_BACKLOG = 3;
    private static final Set<String> CLIENT_METRICS = Set.of(
            "batch-size-avg",
            "bufferpool-wait-time-ns-total",
            "buffer-exhausted-total",
            "compression-rate-avg",
            "produce-throttle-time-max",
            "record-queue-time-avg",
            "record-queue-time-max",
            "record-retry-total",
            "records-per-request-avg",
            "request-latency-avg",
            "request-latency-max");

    private final String topic;
    private final Properties properties;
    private final Payloads payloads;
    private final long windowNs;

    private LoadGenerator(Namespace options) throws IOException {
        topic = options.getString("topic");
        windowNs = options.getInt("window_ms") * 1_000_000L;
        payloads = new Payloads(options.getString("payload_file"), options.getInt("record_size"), options.getInt("keys"));
        properties = new Properties();
        try (InputStream file = Files.newInputStream(Path.of(options.getString("command_config")))) {
            properties.load(file);
        }
        properties.setProperty("key.serializer", ByteArraySerializer.class.getName());
        properties.setProperty("value.serializer", ByteArraySerializer.class.getName());
    }

    public static void main(String[] arguments) throws IOException, InterruptedException {
        ArgumentParser parser = parser();
        try {
            Namespace options = parser.parseArgs(arguments);
            LoadGenerator generator = new LoadGenerator(options);
            ObjectNode result = JSON.createObjectNode().put("format", OUTPUT_FORMAT);
            ArrayNode parts = result.putArray("parts");
            if (options.getDouble("seconds") > 0) {
                parts.add(generator.run(options.getDouble("warmup_seconds"), options.getDouble("seconds"), Double.NaN));
            }
            if (options.getDouble("paced_seconds") > 0) {
                parts.add(generator.run(
                        options.getDouble("paced_warmup_seconds"),
                        options.getDouble("paced_seconds"),
                        options.getDouble("paced_rate")));
            }
            System.out.println(JSON.writeValueAsString(result));
        } catch (ArgumentParserException error) {
            parser.handleError(error);
            System.exit(2);
        }
    }

    /** One part; a rate of NaN stands for as fast as it goes. */
    private ObjectNode run(double warmupSeconds, double seconds, double ratePerSecond) throws InterruptedException {
        try (Producer<byte[], byte[]> producer = new KafkaProducer<>(properties)) {
            Part warmup = new Part(producer, warmupSeconds, ratePerSecond);
            warmup.send();
            Part measured = new Part(producer, seconds, ratePerSecond);
            measured.send();
            ObjectNode answer = measured.describe();
            answer.put("warmup_attempted", warmup.attempted).put("warmup_acknowledged", warmup.latencies.acknowledged());
            answer.set("client_metrics", clientMetrics(producer));
            producer.close(CLOSE_TIMEOUT);
            return answer;
        }
    }

    /** Records sent one after another, and what became of them. */
    private final class Part {
        private final Producer<byte[], byte[]> producer;
        private final long longestNs;
        private final long records;
        private final double intervalNs;
        private final Latencies latencies;
        private long attempted;
        private long elapsedNs;
        private long sendingCpuNs;
        private long startedLateMaxNs;

        private Part(Producer<byte[], byte[]> producer, double seconds, double ratePerSecond) {
            boolean paced = !Double.isNaN(ratePerSecond);
            this.producer = producer;
            this.records = paced ? Math.max(Math.round(ratePerSecond * seconds), 1) : Long.MAX_VALUE;
            this.longestNs = (long) (seconds * 1e9) * (paced ? LONGEST_BACKLOG : 1);
            this.intervalNs = 1e9 / ratePerSecond;
            this.latencies = new Latencies(windowNs);
        }

        private void send() throws InterruptedException {
            boolean paced = !Double.isNaN(intervalNs);
            long cpuBefore = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
            long started = System.nanoTime();
            latencies.start(started);
            for (long index = 0; index < records && System.nanoTime() - started < longestNs; index++) {
                long intended = paced ? started + (long) (index * intervalNs) : 0;
                if (paced) {
                    sleepUntil(intended);
                }
                long sent = System.nanoTime();
                long due = paced ? intended : sent;
                startedLateMaxNs = Math.max(startedLateMaxNs, sent - due);
                attempted++;
                ProducerRecord<byte[], byte[]> record = payloads.next(topic);
                try {
                    producer.send(record, (metadata, failure) -> latencies.completed(due, sent, failure));
                } catch (RuntimeException failure) {
                    latencies.completed(due, sent, failure);
                }
            }
            sendingCpuNs = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - cpuBefore;
            producer.flush();
            elapsedNs = (latencies.lastCompletedNs() > 0 ? latencies.lastCompletedNs() : System.nanoTime()) - started;
        }

        private ObjectNode describe() {
            ObjectNode answer = JSON.createObjectNode();
            answer.put("part", Double.isNaN(intervalNs) ? "unthrottled" : "paced");
            if (!Double.isNaN(intervalNs)) {
                answer.put("asked_records_s", 1e9 / intervalNs);
            }
            answer.put("attempted", attempted).put("elapsed_s", elapsedNs / 1e9);
            answer.put("sending_thread_cpu_s", sendingCpuNs / 1e9).put("started_late_max", startedLateMaxNs / 1e3);
            latencies.describe(answer);
            return answer;
        }
    }

    /** Sleeping is coarse, spinning costs a core that the broker may need: sleep, and start late by what that costs. */
    private static void sleepUntil(long deadlineNs) throws InterruptedException {
        long left = deadlineNs - System.nanoTime();
        if (left > 0) {
            Thread.sleep(left / 1_000_000, (int) (left % 1_000_000));
        }
    }

    private static ObjectNode clientMetrics(Producer<?, ?> producer) {
        ObjectNode found = JSON.createObjectNode();
        for (Map.Entry<MetricName, ? extends Metric> entry : producer.metrics().entrySet()) {
            MetricName name = entry.getKey();
            Object value = entry.getValue().metricValue();
            if (name.group().equals("producer-metrics")
                    && CLIENT_METRICS.contains(name.name())
                    && value instanceof Double number
                    && Double.isFinite(number)) {
                found.put(name.name(), number);
            }
        }
        return found;
    }

    private static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("load-generator", true);
        parser.addArgument("--topic").required(true);
        parser.addArgument("--record-size").type(Integer.class).required(true).help("bytes of a record's value");
        parser.addArgument("--payload-file").help("one value per line, sent in turn; else random letters");
        parser.addArgument("--keys").type(Integer.class).setDefault(0).help("number of distinct keys; 0 for none");
        parser.addArgument("--command-config").required(true).help("a file of producer properties");
        parser.addArgument("--window-ms").type(Integer.class).setDefault(100);
        parser.addArgument("--warmup-seconds").type(Double.class).setDefault(0.0);
        parser.addArgument("--seconds").type(Double.class).setDefault(0.0).help("of sending as fast as it goes");
        parser.addArgument("--paced-warmup-seconds").type(Double.class).setDefault(0.0);
        parser.addArgument("--paced-seconds").type(Double.class).setDefault(0.0).help("of sending at the rate");
        parser.addArgument("--paced-rate").type(Double.class).setDefault(Double.NaN).help("records per second");
        return parser;
    }
}
