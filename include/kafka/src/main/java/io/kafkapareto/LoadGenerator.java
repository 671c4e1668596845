package io.kafkapareto;

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
import java.util.function.Predicate;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
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
    private static final String ZEROS = "zeros";

    private final String topic;
    private final Payloads payloads;
    private final Supplier<LoadClient> clients;
    private final MonotonicClock clock;
    private final Predicate<Duration> writeBack;
    private final LoadGroup group;

    /** Make a generator that sends alone. */
    LoadGenerator(
            String topic, Payloads payloads, Supplier<LoadClient> clients, MonotonicClock clock,
            Predicate<Duration> writeBack) {
        this(topic, payloads, clients, clock, writeBack, new LoadGroup());
    }

    /**
     * Take fresh clients from {@code clients} for each part; {@code writeBack} writes a part's dirty pages. Each machine
     * of the group sends its share of the load.
     */
    LoadGenerator(
            String topic, Payloads payloads, Supplier<LoadClient> clients, MonotonicClock clock,
            Predicate<Duration> writeBack, LoadGroup group) {
        this.topic = topic;
        this.payloads = payloads;
        this.clients = clients;
        this.clock = clock;
        this.writeBack = writeBack;
        this.group = group;
    }

    public static void main(String[] arguments) throws Exception {
        CommandLine.run(parser(), arguments, options -> onCluster(options, arguments));
    }

    /** Send the load from this machine, or from the load machines that the options name. */
    static ObjectNode onCluster(Namespace options, String[] arguments) throws Exception {
        if (options.getList("machine") != null) {
            return LoadCoordinator.load(options, arguments);
        }
        return new LoadGenerator(
                options.getString("topic"), payloads(options, UnaryOperator.identity()), clients(options),
                MonotonicClock.SYSTEM, WriteBack::settle)
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

    /** Return the payloads that the options name; {@code here} maps a file's name to its path on this machine. */
    static Payloads payloads(Namespace options, UnaryOperator<String> here) throws IOException {
        int recordSize = options.getInt("record_size");
        int keys = options.getInt("keys");
        String sample = options.getString("sample");
        String file = options.getString("payload_file");
        if (sample != null) {
            return Payloads.sampled(SampledRecords.read(Path.of(here.apply(sample))));
        }
        return options.getString("payload").equals(ZEROS)
                ? Payloads.zeros(recordSize, keys)
                : new Payloads(file == null ? null : here.apply(file), recordSize, keys);
    }

    ObjectNode load(Namespace options) {
        return send(options).described();
    }

    /** Send this machine's share of both parts; skip the second if the first fails. */
    LoadOutcome send(Namespace options) {
        List<PartOutcome> parts = new ArrayList<>();
        WriteBack.Wait wait = null;
        boolean synchronous = options.getBoolean("synchronous");
        List<Share> shares = shares(options.getInt("producers"));
        if (options.getDouble("seconds") > 0) {
            Pace pace = new Pace(options.getDouble("max_rate"), false);
            parts.add(run(
                    pace, shares, options.getDouble("warmup_seconds"), options.getDouble("seconds"), synchronous));
        }
        if (options.getDouble("paced_seconds") > 0 && !group.failed.get()) {
            if (options.getDouble("settle_seconds") > 0 && !parts.isEmpty()) {
                wait = settle(options.getDouble("settle_seconds"));
            }
            Pace pace = new Pace(options.getDouble("paced_rate"), true)
                    .withArrivals(arrivals(options.getString("arrival")));
            parts.add(run(
                    pace, shares, options.getDouble("paced_warmup_seconds"), options.getDouble("paced_seconds"),
                    synchronous));
        }
        return new LoadOutcome(parts, wait);
    }

    /** Return the shares of this machine: of three machines the first has the producers 0, 3, 6, … */
    private List<Share> shares(int producers) {
        return IntStream.iterate(group.place(), place -> place < producers, place -> place + group.size())
                .mapToObj(place -> new Share(place, producers, payloads.of(place, producers))).toList();
    }

    /** One producer's records, and its place among the producers of all machines. */
    private record Share(int place, int producers, Payloads records) {}

    private Arrivals arrivals(String name) {
        return switch (name) {
            case Arrivals.POISSON -> Arrivals.poisson();
            case Arrivals.RECORDED -> payloads.arrivals();
            default -> Arrivals.constant();
        };
    }

    private WriteBack.Wait settle(double limitSeconds) {
        long startedNs = clock.nanoTime();
        boolean settled = writeBack.test(Duration.ofMillis((long) (1e3 * limitSeconds)));
        return new WriteBack.Wait((clock.nanoTime() - startedNs) / 1e9, settled);
    }

    private PartOutcome run(
            Pace pace, List<Share> shares, double warmupSeconds, double seconds, boolean synchronous) {
        List<Sender> senders = new ArrayList<>();
        ExecutorService threads = Executors.newFixedThreadPool(shares.size());
        try {
            for (Share share : shares) {
                senders.add(new Sender(
                        clients.get(), dueNs -> share.records.next(topic), pace.shareOf(share.place, share.producers),
                        clock, group.failed, synchronous));
            }
            group.whenLost(() -> abandon(senders)); // a flush would send what is left
            send(senders, threads, group.start(clock), warmupSeconds);
            long warmupAttempted = senders.stream().mapToLong(Sender::attempted).sum();
            long warmupAcknowledged = senders.stream().mapToLong(each -> each.outcomes.acknowledged()).sum();
            senders.forEach(Sender::endWarmup);
            long startedNs = group.start(clock);
            long startErrorNs = group.startErrorNs();
            senders.forEach(each -> each.outcomes.startAfresh(startedNs));
            send(senders, threads, startedNs, seconds);
            group.meet();
            return new PartOutcome(
                    pace.fixed() ? "paced" : "unthrottled",
                    warmupAttempted,
                    warmupAcknowledged,
                    senders.stream().mapToLong(Sender::attempted).sum(),
                    senders.stream().mapToLong(each -> each.planned(seconds)).sum(),
                    senders.stream().mapToLong(each -> each.endedNs() - startedNs).max().getAsLong() / 1e9,
                    senders.stream().mapToLong(Sender::waitedNs).sum() / 1e9,
                    senders.stream().mapToLong(Sender::cpuNs).sum() / 1e9,
                    senders.stream().mapToLong(each -> each.beganNs() - startedNs).min().getAsLong(),
                    startErrorNs,
                    LatencyStatistics.merged(senders.stream().map(each -> each.outcomes).toList()),
                    senders.stream().map(Sender::metrics).toList());
        } finally {
            threads.shutdownNow();
            if (!hasEnded(threads)) {
                System.err.println("a sending thread does not end; ending the process");
                Runtime.getRuntime().halt(1); // its client cannot be closed, and would disturb the next load
            }
            group.whenLost(() -> {});
            senders.forEach(Sender::close);
        }
    }

    /** Close all, even if one cannot be closed. */
    private static void abandon(List<Sender> senders) {
        for (Sender each : senders) {
            try {
                each.close();
            } catch (RuntimeException error) {
                System.err.println("a client could not be closed: " + error.getMessage());
            }
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
        parser.addArgument("--machine").action(Arguments.append())
                .help("host:port of a load machine; repeatable. These send the load instead of this process");
        parser.addArgument("--machine-credentials").help("PEM file with the load machines' key and certificate");
        parser.addArgument("--machine-heap-mib").type(Integer.class).setDefault(0).help("heap that each machine needs");
        parser.addArgument("--machine-start-ms").type(Double.class).setDefault(0.0)
                .help("longest time between the starts of two load machines");
        parser.addArgument("--cluster-id").help("the cluster that the load machines must send to");
        parser.addArgument("--arrival").choices(Arrivals.NAMES).setDefault(Arrivals.CONSTANT)
                .help("inter-arrival times at the fixed rate: equal, exponential, or as in the sample");
        return parser;
    }
}
