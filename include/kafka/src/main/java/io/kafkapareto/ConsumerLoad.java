package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.atomic.LongAdder;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.impl.Arguments;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.Namespace;
import org.HdrHistogram.Histogram;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;

/**
 * Runs a group of consumers that reads one topic, one thread each: either the topic's existing records, unthrottled, or
 * those a producer in this JVM sends meanwhile at a fixed rate.
 *
 * <p>The first eight bytes of such a record are its due time by this JVM's clock. End-to-end latency runs from there to
 * the return of {@code poll()}, so it includes all waiting. The last line on stdout is one JSON object.
 */
public final class ConsumerLoad {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final String LIVE = "live";

    private final Namespace options;
    private final Properties consumerProperties;
    private final AtomicReference<String> failure = new AtomicReference<>();
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final MeasuredTime measured = new MeasuredTime();
    private final LongAdder recordsRead = new LongAdder();
    private final MonotonicClock clock = MonotonicClock.SYSTEM;

    private ConsumerLoad(Namespace options) throws IOException {
        this.options = options;
        consumerProperties = CommandLine.properties(options.getString("command_config"));
        consumerProperties.setProperty("key.deserializer", ByteArrayDeserializer.class.getName());
        consumerProperties.setProperty("value.deserializer", ByteArrayDeserializer.class.getName());
        consumerProperties.setProperty("group.id", options.getString("group"));
        consumerProperties.setProperty("auto.offset.reset", "earliest");
    }

    public static void main(String[] arguments) throws Exception {
        CommandLine.run(parser(), arguments, options -> new ConsumerLoad(options).load());
    }

    private ObjectNode load() throws Exception {
        int members = options.getInt("consumers");
        try (TopicOffsets asked = new TopicOffsets(consumerProperties, options.getString("topic"))) {
            int partitions = asked.partitions().size();
            if (members > partitions) {
                throw new IllegalArgumentException(members + " consumers for " + partitions
                        + " partitions: each consumer needs one");
            }
            Map<TopicPartition, Long> ends = asked.ends();
            ReadOffsets offsets = new ReadOffsets(isLive() ? ends : asked.begins(), ends);
            var shared = new GroupMember.Shared(
                    options.getString("topic"), new GroupStart(clock, members, partitions), measured, offsets,
                    recordsRead, stopped, !isLive(), isLive(), ns(options.getDouble("poll_pause_ms") / 1e3), clock);
            return load(members, shared, asked);
        }
    }

    private ObjectNode load(int count, GroupMember.Shared shared, TopicOffsets asked) throws Exception {
        ObjectNode result = JSON.createObjectNode()
                .put("mode", options.getString("mode")).put("consumers", count);
        List<GroupMember> members = new ArrayList<>();
        for (int number = 0; number < count; number++) {
            members.add(new GroupMember(
                    number, new KafkaConsumer<>(consumerProperties), shared, THREADS::getCurrentThreadCpuTime));
        }
        ExecutorService threads = Executors.newFixedThreadPool(count + 1);
        try {
            shared.start().ask();
            List<Future<?>> polling = new ArrayList<>();
            members.forEach(each -> polling.add(threads.submit(() -> run(each))));
            if (awaitComplete(shared.start())) {
                if (isLive()) {
                    readWhileSending(threads, shared, asked, result);
                } else {
                    readToTheEnd();
                }
            }
            stopped.set(true);
            for (Future<?> each : polling) {
                each.get();
            }
        } finally {
            stopped.set(true);
            threads.shutdown();
        }
        describe(members, shared, result);
        return result;
    }

    private void run(GroupMember member) {
        try {
            member.run();
        } catch (RuntimeException error) {
            fail(error.getClass().getSimpleName() + ": " + ClusterAdmin.messagesOf(error));
        }
    }

    private void fail(String reason) {
        failure.compareAndSet(null, reason);
        stopped.set(true);
        measured.close(clock.nanoTime());
    }

    private boolean awaitComplete(GroupStart start) throws InterruptedException {
        double limitS = options.getDouble("timeout_seconds");
        long askedNs = clock.nanoTime();
        while (!start.await(0.05) && !stopped.get()) {
            if (clock.nanoTime() - askedNs > 1e9 * limitS) {
                fail("the group was not complete within " + limitS + " s");
            }
        }
        return !stopped.get();
    }

    private void readToTheEnd() throws InterruptedException {
        double limitS = options.getDouble("timeout_seconds");
        measured.open(clock.nanoTime() + ns(options.getDouble("warmup_seconds")), Long.MAX_VALUE);
        if (!measured.awaitClosed(limitS)) {
            fail("the end offsets were not reached within " + limitS + " s");
        }
    }

    private void readWhileSending(
            ExecutorService threads, GroupMember.Shared shared, TopicOffsets asked, ObjectNode result)
            throws Exception {
        double warmupS = options.getDouble("warmup_seconds");
        double seconds = warmupS + options.getDouble("seconds");
        Properties properties = CommandLine.producerProperties(options.getString("producer_config"));
        try (LiveProducer producer = new LiveProducer(
                shared.topic(), new KafkaProducer<>(properties), new Payloads(null, options.getInt("record_size"), 0),
                options.getDouble("rate"), seconds, clock)) {
            long startedNs = clock.nanoTime();
            measured.open(startedNs + ns(warmupS), startedNs + ns(seconds));
            Future<?> sending = threads.submit(() -> producer.send(startedNs));
            producer.sampleLag(
                    startedNs, measured.fromNs(), recordsRead::sum, stopped::get, result.putArray("lag_samples"));
            sending.get();
            producer.describe(startedNs, result.putObject("sent"));
            shared.offsets().endAt(asked.ends());
            result.put("waited_for_unread_s", awaitRead(shared.offsets()));
        }
    }

    /** Let the group read the remaining records within a time limit, and return the time it needed. */
    private double awaitRead(ReadOffsets offsets) throws InterruptedException {
        long beganNs = clock.nanoTime();
        while (offsets.ahead() > 0 && !stopped.get()
                && clock.nanoTime() - beganNs < ns(options.getDouble("unread_seconds"))) {
            TimeUnit.MILLISECONDS.sleep(5);
        }
        return (clock.nanoTime() - beganNs) / 1e9;
    }

    private void describe(List<GroupMember> members, GroupMember.Shared shared, ObjectNode result) {
        boolean joined = shared.start().isComplete();
        result.put("failure", failure.get());
        result.put("rebalance_s", joined ? shared.start().rebalanceS() : null);
        result.put("assignments_changed", shared.start().changesSince());
        result.put("records", members.stream().mapToLong(each -> each.all.records).sum());
        result.put("bytes", members.stream().mapToLong(each -> each.all.bytes).sum());
        result.put("measured_s", measured.lengthNs() / 1e9);
        result.put("measured_records", members.stream().mapToLong(each -> each.measured.records).sum());
        result.put("measured_bytes", members.stream().mapToLong(each -> each.measured.bytes).sum());
        result.put("poll_wait_s", members.stream().mapToDouble(GroupMember::waitedS).sum());
        result.put("threads_cpu_s", members.stream().mapToDouble(GroupMember::cpuS).sum());
        result.set("client_metrics", ConsumerMetrics.merged(
                members.stream().map(GroupMember::metrics).filter(Objects::nonNull).toList()));
        if (isLive()) {
            Histogram fromDue = LatencyStatistics.histogram();
            members.forEach(each -> fromDue.add(each.fromDue));
            result.put("latency_records", fromDue.getTotalCount());
            result.set("latency_us", LatencyStatistics.describe(fromDue, result));
        }
        shared.offsets().describe(result.putArray("partitions"));
    }

    private boolean isLive() {
        return options.getString("mode").equals(LIVE);
    }

    private static long ns(double seconds) {
        return (long) (1e9 * seconds);
    }

    static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("consumer-load", true);
        parser.addArgument("--mode").choices("drain", LIVE).required(true)
                .help("read the topic's existing records, or those sent meanwhile");
        parser.addArgument("--topic").required(true);
        parser.addArgument("--group").required(true).help("id of a group that has never been used");
        parser.addArgument("--command-config").required(true).help("a file of consumer properties");
        parser.addArgument("--consumers").type(Integer.class).choices(Arguments.range(1, 1_000)).setDefault(1)
                .help("number of consumers, each with a thread");
        parser.addArgument("--poll-pause-ms").type(Double.class).setDefault(0.0)
                .help("pause after a poll that returned records, to simulate processing");
        parser.addArgument("--warmup-seconds").type(Double.class).setDefault(0.0).help("uncounted reading first");
        parser.addArgument("--timeout-seconds").type(Double.class).setDefault(60.0)
                .help("time limit for completing the group, and again for reaching the end offsets");
        parser.addArgument("--producer-config").help("live: a file of producer properties");
        parser.addArgument("--record-size").type(Integer.class).choices(Arguments.range(8, Integer.MAX_VALUE))
                .setDefault(1_024).help("live: bytes of a record's value");
        parser.addArgument("--rate").type(Double.class).setDefault(1.0).help("live: records per second");
        parser.addArgument("--seconds").type(Double.class).setDefault(1.0).help("live: measured time of sending");
        parser.addArgument("--unread-seconds").type(Double.class).setDefault(5.0)
                .help("live: time limit for reading the remaining records at the end");
        return parser;
    }
}
