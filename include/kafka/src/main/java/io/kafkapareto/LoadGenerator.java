package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.stream.IntStream;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.impl.Arguments;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.MutuallyExclusiveGroup;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.KafkaProducer;

/**
 * Sends a load to one topic: first unthrottled, for the throughput, then at a fixed rate, for the latency, measured
 * from each record's due time.
 *
 * <p>Latency measured from {@code send()} omits records delayed by a blocked {@code send()} (coordinated omission: Gil
 * Tene, How NOT to Measure Latency). Each part is optional, and has its own producers, with a thread each, and its own
 * warm-up. The rate is that of all producers together. A failed record ends the load, because its result would be
 * invalid. The last line on stdout is one JSON object.
 */
public final class LoadGenerator {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String ZEROS = "zeros";

    private final String topic;
    private final Payloads payloads;
    private final Supplier<LoadClient> clients;
    private final MonotonicClock clock;
    private final Predicate<Duration> writeBack;

    /** Take fresh clients from {@code clients} for each part; {@code writeBack} writes a part's dirty pages. */
    LoadGenerator(
            String topic, Payloads payloads, Supplier<LoadClient> clients, MonotonicClock clock,
            Predicate<Duration> writeBack) {
        this.topic = topic;
        this.payloads = payloads;
        this.clients = clients;
        this.clock = clock;
        this.writeBack = writeBack;
    }

    public static void main(String[] arguments) throws Exception {
        CommandLine.run(parser(), arguments, LoadGenerator::onCluster);
    }

    static ObjectNode onCluster(Namespace options) throws IOException {
        return new LoadGenerator(
                options.getString("topic"), payloads(options), clients(options), MonotonicClock.SYSTEM,
                WriteBack::settle)
                .load(options);
    }

    private static Supplier<LoadClient> clients(Namespace options) throws IOException {
        String file = options.getString("command_config");
        String library = options.getString("librdkafka");
        if (library == null) {
            Properties properties = CommandLine.producerProperties(file);
            return () -> new JavaClient(new KafkaProducer<>(properties));
        }
        Map<String, String> settings = LibrdkafkaSecurity.translated(CommandLine.properties(file));
        return () -> new LibrdkafkaClient(library, options.getString("topic"), settings);
    }

    private static Payloads payloads(Namespace options) throws IOException {
        int recordSize = options.getInt("record_size");
        int keys = options.getInt("keys");
        if (options.getString("sample") != null) {
            return Payloads.sampled(SampledRecords.read(Path.of(options.getString("sample"))));
        }
        return options.getString("payload").equals(ZEROS)
                ? Payloads.zeros(recordSize, keys)
                : new Payloads(options.getString("payload_file"), recordSize, keys);
    }

    /** Send both parts; skip the second if the first fails. */
    ObjectNode load(Namespace options) {
        ObjectNode result = JSON.createObjectNode();
        ArrayNode parts = result.putArray("parts");
        int count = options.getInt("producers");
        boolean synchronous = options.getBoolean("synchronous");
        List<Payloads> records = IntStream.range(0, count).mapToObj(each -> payloads.of(each, count)).toList();
        boolean failed = false;
        if (options.getDouble("seconds") > 0) {
            Pace pace = new Pace(options.getDouble("max_rate"), false);
            parts.add(run(
                    pace, records, options.getDouble("warmup_seconds"), options.getDouble("seconds"), synchronous));
            failed = !parts.get(0).get("failures").isEmpty();
        }
        if (options.getDouble("paced_seconds") > 0 && !failed) {
            if (options.getDouble("settle_seconds") > 0 && !parts.isEmpty()) {
                result.set("write_back", settle(options.getDouble("settle_seconds")));
            }
            Pace pace = new Pace(options.getDouble("paced_rate"), true)
                    .withArrivals(arrivals(options.getString("arrival")));
            parts.add(run(
                    pace, records, options.getDouble("paced_warmup_seconds"), options.getDouble("paced_seconds"),
                    synchronous));
        }
        return result;
    }

    private Arrivals arrivals(String name) {
        return switch (name) {
            case Arrivals.POISSON -> Arrivals.poisson();
            case Arrivals.RECORDED -> payloads.arrivals();
            default -> Arrivals.constant();
        };
    }

    private ObjectNode settle(double limitSeconds) {
        long startedNs = clock.nanoTime();
        boolean settled = writeBack.test(Duration.ofMillis((long) (1e3 * limitSeconds)));
        return JSON.createObjectNode().put("waited_s", (clock.nanoTime() - startedNs) / 1e9).put("settled", settled);
    }

    private ObjectNode run(
            Pace pace, List<Payloads> records, double warmupSeconds, double seconds, boolean synchronous) {
        ObjectNode part = JSON.createObjectNode().put("part", pace.fixed() ? "paced" : "unthrottled");
        List<Sender> senders = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(records.size());
        try {
            AtomicBoolean failed = new AtomicBoolean();
            for (Payloads each : records) {
                Pace share = pace.shareOf(senders.size(), records.size());
                senders.add(
                        new Sender(clients.get(), dueNs -> each.next(topic), share, clock, failed, synchronous));
            }
            send(senders, threads, clock.nanoTime(), warmupSeconds);
            part.put("warmup_attempted", senders.stream().mapToLong(Sender::attempted).sum());
            part.put("warmup_acknowledged", senders.stream().mapToLong(each -> each.outcomes.acknowledged()).sum());
            senders.forEach(Sender::endWarmup);
            long startedNs = clock.nanoTime();
            senders.forEach(each -> each.outcomes.startAfresh(startedNs));
            send(senders, threads, startedNs, seconds);
            describe(senders, part, startedNs, seconds);
            return part;
        } finally {
            threads.shutdownNow();
            if (!hasEnded(threads)) {
                System.err.println("a sending thread does not end; ending the process");
                Runtime.getRuntime().halt(1); // its client cannot be closed, and would disturb the next load
            }
            senders.forEach(Sender::close);
        }
    }

    private static boolean hasEnded(ExecutorService threads) {
        try {
            return threads.awaitTermination(10, TimeUnit.SECONDS);
        } catch (InterruptedException interruption) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /** Send with all senders in parallel, each in its own thread, and return when all have flushed. */
    private static void send(List<Sender> senders, ExecutorService threads, long startedNs, double seconds) {
        List<Future<?>> sending = new ArrayList<>();
        senders.forEach(each -> sending.add(threads.submit(() -> each.send(startedNs, seconds))));
        for (Future<?> each : sending) {
            try {
                each.get();
            } catch (ExecutionException | InterruptedException failure) {
                throw new IllegalStateException("a sending thread did not end by itself", failure);
            }
        }
    }

    private static void describe(List<Sender> senders, ObjectNode part, long startedNs, double seconds) {
        part.put("attempted", senders.stream().mapToLong(Sender::attempted).sum());
        part.put("planned", senders.stream().mapToLong(each -> each.planned(seconds)).sum());
        part.put("sending_s", senders.stream().mapToLong(each -> each.endedNs() - startedNs).max().orElse(0) / 1e9);
        part.put("answer_wait_s", senders.stream().mapToLong(Sender::waitedNs).sum() / 1e9);
        part.put("sending_cpu_s", senders.stream().mapToLong(Sender::cpuNs).sum() / 1e9);
        LatencyStatistics.merged(senders.stream().map(each -> each.outcomes).toList()).describe(part);
        part.set("client_metrics", ClientMetrics.merged(senders.stream().map(Sender::metrics).toList()));
    }

    static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("load-generator", true);
        parser.addArgument("--topic").required(true);
        parser.addArgument("--record-size").type(Integer.class).required(true).help("bytes of a record's value");
        MutuallyExclusiveGroup contents = parser.addMutuallyExclusiveGroup();
        contents.addArgument("--payload").choices("random", ZEROS).setDefault("random")
                .help("content of the values: random letters, or zero bytes");
        contents.addArgument("--payload-file").help("one value per line, sent cyclically");
        contents.addArgument("--sample")
                .help("sampled records, sent cyclically with their keys and headers");
        parser.addArgument("--keys").type(Integer.class).setDefault(0).help("number of distinct keys; 0 for none");
        parser.addArgument("--producers").type(Integer.class).choices(Arguments.range(1, 1_000)).setDefault(1)
                .help("number of producers, each with a sending thread; they share all rates");
        parser.addArgument("--synchronous").action(Arguments.storeTrue())
                .help("each producer waits for the answer to a record before the next");
        parser.addArgument("--command-config").required(true).help("a file of producer properties");
        parser.addArgument("--librdkafka")
                .help("librdkafka's shared library, to send with it instead of Kafka's client for Java");
        parser.addArgument("--warmup-seconds").type(Double.class).setDefault(0.0);
        parser.addArgument("--seconds").type(Double.class).setDefault(0.0).help("duration of unthrottled sending");
        parser.addArgument("--max-rate").type(Double.class).setDefault(Double.POSITIVE_INFINITY)
                .help("limit of unthrottled sending, in records per second");
        parser.addArgument("--settle-seconds").type(Double.class).setDefault(0.0)
                .help("time limit for writing dirty pages between the parts; 0: no write-back");
        parser.addArgument("--paced-warmup-seconds").type(Double.class).setDefault(0.0);
        parser.addArgument("--paced-seconds").type(Double.class).setDefault(0.0).help("duration at the fixed rate");
        parser.addArgument("--paced-rate").type(Double.class).setDefault(1.0).help("records per second");
        parser.addArgument("--arrival").choices(Arrivals.NAMES).setDefault(Arrivals.CONSTANT)
                .help("inter-arrival times at the fixed rate: equal, exponential, or as in the sample");
        return parser;
    }
}
