package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.Reader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.MetricName;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * A load on one topic that hides no waiting: first as fast as it goes, for the throughput, then at a fixed rate, for
 * the latency, which counts from the moment at which each record was due.
 *
 * <p>Latency from {@code send()} alone omits whatever a blocked {@code send()} kept waiting (coordinated omission: Gil
 * Tene, How NOT to Measure Latency). Either part has a producer of its own, with its own warm-up, and may be left out.
 * A record that fails ends the load, which cannot count any more. The last line on stdout is one JSON object.
 */
public final class LoadGenerator {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    /** A configuration that cannot keep up works off its backlog for this many times the planned time, no longer. */
    private static final int LONGEST_BACKLOG = 3;
    private static final Set<String> CLIENT_METRICS = Set.of(
            "batch-size-avg",
            "buffer-exhausted-total",
            "bufferpool-wait-time-ns-total",
            "compression-rate-avg",
            "produce-throttle-time-max",
            "record-queue-time-avg",
            "record-queue-time-max",
            "record-retry-total",
            "records-per-request-avg",
            "request-latency-avg",
            "request-latency-max");

    private final String topic;
    private final Properties properties = new Properties();
    private final Payloads payloads;

    private LoadGenerator(Namespace options) throws IOException {
        topic = options.getString("topic");
        payloads = new Payloads(
                options.getString("payload_file"), options.getInt("record_size"), options.getInt("keys"));
        try (Reader file = Files.newBufferedReader(Path.of(options.getString("command_config")))) {
            properties.load(file);
        }
        properties.setProperty("key.serializer", ByteArraySerializer.class.getName());
        properties.setProperty("value.serializer", ByteArraySerializer.class.getName());
    }

    public static void main(String[] arguments) throws IOException {
        ArgumentParser parser = parser();
        try {
            System.out.println(JSON.writeValueAsString(load(parser.parseArgs(arguments))));
        } catch (ArgumentParserException error) {
            parser.handleError(error);
            System.exit(2);
        }
    }

    private static ObjectNode load(Namespace options) throws IOException {
        LoadGenerator generator = new LoadGenerator(options);
        ObjectNode result = JSON.createObjectNode();
        ArrayNode parts = result.putArray("parts");
        boolean failed = false;
        if (options.getDouble("seconds") > 0) {
            Pace pace = new Pace(options.getDouble("max_rate"), false);
            parts.add(generator.run(pace, options.getDouble("warmup_seconds"), options.getDouble("seconds")));
            failed = !parts.get(0).get("failures").isEmpty();
        }
        if (options.getDouble("paced_seconds") > 0 && !failed) {
            Pace pace = new Pace(options.getDouble("paced_rate"), true);
            parts.add(generator.run(
                    pace, options.getDouble("paced_warmup_seconds"), options.getDouble("paced_seconds")));
        }
        return result;
    }

    /** How fast records go out; the rate is a mere ceiling, without due times, unless the pace is fixed. */
    private record Pace(double recordsPerSecond, boolean fixed) {
        long records(double seconds) {
            return fixed ? Math.round(recordsPerSecond * seconds) : Long.MAX_VALUE;
        }

        long longestNs(double seconds) {
            return (long) (seconds * 1e9) * (fixed ? LONGEST_BACKLOG : 1);
        }

        long offsetNs(long index) {
            return (long) (index * (1e9 / recordsPerSecond));
        }
    }

    private ObjectNode run(Pace pace, double warmupSeconds, double seconds) {
        ObjectNode part = JSON.createObjectNode().put("part", pace.fixed() ? "paced" : "unthrottled");
        Outcomes outcomes = new Outcomes();
        Producer<byte[], byte[]> producer = new KafkaProducer<>(properties);
        try {
            part.put("warmup_attempted", send(producer, outcomes, pace, warmupSeconds));
            producer.flush();
            part.put("warmup_acknowledged", outcomes.acknowledged());
            ObjectNode warmupMetrics = clientMetrics(producer);
            long cpuBeforeNs = THREADS.getCurrentThreadCpuTime();
            long startedNs = System.nanoTime();
            outcomes.startAfresh(startedNs);
            long attempted = send(producer, outcomes, pace, seconds);
            part.put("attempted", attempted);
            part.put("planned", pace.fixed() ? pace.records(seconds) : attempted);
            part.put("sending_s", (System.nanoTime() - startedNs) / 1e9);
            part.put("sending_cpu_s", (THREADS.getCurrentThreadCpuTime() - cpuBeforeNs) / 1e9);
            producer.flush();
            outcomes.describe(part);
            part.set("client_metrics", withTotalsSince(warmupMetrics, clientMetrics(producer)));
            return part;
        } finally {
            // Everything is flushed or has failed, so there is nothing left to wait for.
            producer.close(Duration.ZERO);
        }
    }

    /** Sends until the records or the time are used up, or one has failed; returns how many it tried. */
    private long send(Producer<byte[], byte[]> producer, Outcomes outcomes, Pace pace, double seconds) {
        long startedNs = System.nanoTime();
        long attempted = 0;
        while (attempted < pace.records(seconds)
                && System.nanoTime() - startedNs < pace.longestNs(seconds)
                && !outcomes.failed()) {
            long slotNs = startedNs + pace.offsetNs(attempted);
            waitUntil(slotNs);
            long sentNs = System.nanoTime();
            long dueNs = pace.fixed() ? slotNs : sentNs;
            try {
                producer.send(payloads.next(topic), (metadata, failure) -> outcomes.completed(dueNs, sentNs, failure));
            } catch (RuntimeException failure) {
                outcomes.completed(dueNs, sentNs, failure);
            }
            attempted++;
        }
        return attempted;
    }

    /** Parks rather than spins, since a spinning core is one that the broker may need; wakes some 0.1 ms late. */
    private static void waitUntil(long deadlineNs) {
        for (long left = deadlineNs - System.nanoTime(); left > 0; left = deadlineNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private static ObjectNode clientMetrics(Producer<?, ?> producer) {
        ObjectNode found = JSON.createObjectNode();
        for (Map.Entry<MetricName, ? extends Metric> entry : producer.metrics().entrySet()) {
            MetricName name = entry.getKey();
            if (name.group().equals("producer-metrics")
                    && CLIENT_METRICS.contains(name.name())
                    && entry.getValue().metricValue() instanceof Double number
                    && Double.isFinite(number)) {
                found.put(name.name(), number);
            }
        }
        return found;
    }

    /** Kafka counts totals from the producer's first record on; those of the warm-up are no part of what is measured. */
    private static ObjectNode withTotalsSince(ObjectNode before, ObjectNode now) {
        for (String name : CLIENT_METRICS) {
            if (name.endsWith("-total") && now.has(name)) {
                now.put(name, now.get(name).asDouble() - before.path(name).asDouble());
            }
        }
        return now;
    }

    private static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("load-generator", true);
        parser.addArgument("--topic").required(true);
        parser.addArgument("--record-size").type(Integer.class).required(true).help("bytes of a record's value");
        parser.addArgument("--payload-file").help("one value per line, sent in turn; else random letters");
        parser.addArgument("--keys").type(Integer.class).setDefault(0).help("number of distinct keys; 0 for none");
        parser.addArgument("--command-config").required(true).help("a file of producer properties");
        parser.addArgument("--warmup-seconds").type(Double.class).setDefault(0.0);
        parser.addArgument("--seconds").type(Double.class).setDefault(0.0).help("of sending as fast as it goes");
        parser.addArgument("--max-rate").type(Double.class).setDefault(Double.POSITIVE_INFINITY)
                .help("records per second that sending as fast as it goes may not exceed");
        parser.addArgument("--paced-warmup-seconds").type(Double.class).setDefault(0.0);
        parser.addArgument("--paced-seconds").type(Double.class).setDefault(0.0).help("of sending at the fixed rate");
        parser.addArgument("--paced-rate").type(Double.class).setDefault(1.0).help("records per second");
        return parser;
    }
}
