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
import java.util.Properties;
import java.util.function.Predicate;
import java.util.function.Supplier;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;
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

    private final String topic;
    private final Payloads payloads;
    private final Supplier<Producer<byte[], byte[]>> producers;
    private final MonotonicClock clock;
    private final Predicate<Duration> writeBack;

    /** Takes a fresh producer from {@code producers} for each part; {@code writeBack} settles what a part has left. */
    LoadGenerator(
            String topic, Payloads payloads, Supplier<Producer<byte[], byte[]>> producers, MonotonicClock clock,
            Predicate<Duration> writeBack) {
        this.topic = topic;
        this.payloads = payloads;
        this.producers = producers;
        this.clock = clock;
        this.writeBack = writeBack;
    }

    public static void main(String[] arguments) throws IOException {
        ArgumentParser parser = parser();
        try {
            System.out.println(JSON.writeValueAsString(onCluster(parser.parseArgs(arguments))));
        } catch (ArgumentParserException error) {
            parser.handleError(error);
            System.exit(2);
        }
    }

    static ObjectNode onCluster(Namespace options) throws IOException {
        Payloads payloads = new Payloads(
                options.getString("payload_file"), options.getInt("record_size"), options.getInt("keys"));
        Properties properties = new Properties();
        try (Reader file = Files.newBufferedReader(Path.of(options.getString("command_config")))) {
            properties.load(file);
        }
        properties.setProperty("key.serializer", ByteArraySerializer.class.getName());
        properties.setProperty("value.serializer", ByteArraySerializer.class.getName());
        return new LoadGenerator(
                options.getString("topic"), payloads, () -> new KafkaProducer<>(properties), MonotonicClock.SYSTEM,
                WriteBack::settle)
                .load(options);
    }

    /** Sends both parts; the second one not where the first has failed. */
    ObjectNode load(Namespace options) {
        ObjectNode result = JSON.createObjectNode();
        ArrayNode parts = result.putArray("parts");
        boolean failed = false;
        if (options.getDouble("seconds") > 0) {
            Pace pace = new Pace(options.getDouble("max_rate"), false);
            parts.add(run(pace, options.getDouble("warmup_seconds"), options.getDouble("seconds")));
            failed = !parts.get(0).get("failures").isEmpty();
        }
        if (options.getDouble("paced_seconds") > 0 && !failed) {
            if (options.getDouble("settle_seconds") > 0 && !parts.isEmpty()) {
                result.set("write_back", settle(options.getDouble("settle_seconds")));
            }
            Pace pace = new Pace(options.getDouble("paced_rate"), true);
            parts.add(run(
                    pace, options.getDouble("paced_warmup_seconds"), options.getDouble("paced_seconds")));
        }
        return result;
    }

    private ObjectNode settle(double limitSeconds) {
        long startedNs = clock.nanoTime();
        boolean settled = writeBack.test(Duration.ofMillis((long) (1e3 * limitSeconds)));
        return JSON.createObjectNode().put("waited_s", (clock.nanoTime() - startedNs) / 1e9).put("settled", settled);
    }

    private ObjectNode run(Pace pace, double warmupSeconds, double seconds) {
        ObjectNode part = JSON.createObjectNode().put("part", pace.fixed() ? "paced" : "unthrottled");
        Outcomes outcomes = new Outcomes(clock);
        Producer<byte[], byte[]> producer = producers.get();
        try {
            part.put("warmup_attempted", send(producer, outcomes, pace, warmupSeconds));
            producer.flush();
            part.put("warmup_acknowledged", outcomes.acknowledged());
            ObjectNode warmupMetrics = ClientMetrics.read(producer.metrics());
            long cpuBeforeNs = THREADS.getCurrentThreadCpuTime();
            long startedNs = clock.nanoTime();
            outcomes.startAfresh(startedNs);
            long attempted = send(producer, outcomes, pace, seconds);
            part.put("attempted", attempted);
            part.put("planned", pace.fixed() ? pace.records(seconds) : attempted);
            part.put("sending_s", (clock.nanoTime() - startedNs) / 1e9);
            part.put("sending_cpu_s", (THREADS.getCurrentThreadCpuTime() - cpuBeforeNs) / 1e9);
            producer.flush();
            outcomes.describe(part);
            part.set("client_metrics", ClientMetrics.withTotalsSince(warmupMetrics, ClientMetrics.read(producer.metrics())));
            return part;
        } finally {
            // Everything is flushed or has failed, so there is nothing left to wait for.
            producer.close(Duration.ZERO);
        }
    }

    /** Sends until the records or the time are used up, or one has failed; returns how many it tried. */
    private long send(Producer<byte[], byte[]> producer, Outcomes outcomes, Pace pace, double seconds) {
        long startedNs = clock.nanoTime();
        long attempted = 0;
        while (attempted < pace.records(seconds)
                && clock.nanoTime() - startedNs < pace.longestNs(seconds)
                && !outcomes.failed()) {
            long slotNs = startedNs + pace.offsetNs(attempted);
            clock.waitUntil(slotNs);
            long sentNs = clock.nanoTime();
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

    static ArgumentParser parser() {
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
        parser.addArgument("--settle-seconds").type(Double.class).setDefault(0.0)
                .help("most that this machine may take between the parts to write what the first has left; 0: not asked");
        parser.addArgument("--paced-warmup-seconds").type(Double.class).setDefault(0.0);
        parser.addArgument("--paced-seconds").type(Double.class).setDefault(0.0).help("of sending at the fixed rate");
        parser.addArgument("--paced-rate").type(Double.class).setDefault(1.0).help("records per second");
        return parser;
    }
}
