package io.kafkapareto.aggregator;

import com.fasterxml.jackson.databind.node.JsonNodeFactory;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import org.apache.camel.CamelContext;
import org.apache.camel.builder.RouteBuilder;
import org.apache.camel.impl.DefaultCamelContext;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.Producer;

/**
 * Receives events from Filebeat by the Beats protocol and sends them to Kafka in batches, like Logstash.
 *
 * <p>Prints one JSON line to stdout when ready. On SIGTERM it stops accepting events, sends those it has, prints
 * its counters in another line, and exits with 0, or with 1 if Kafka does not acknowledge all of them in time.
 */
public final class Aggregator {
    private static final int FAILED = 1;
    private static final int BAD_INPUT = 2;
    private static final long LEFT_OPEN_S = 1;

    private final AggregatorOptions options;
    private final Producer<byte[], byte[]> producer;
    private final Counters counters = new Counters();
    private final Receiver receiver;
    private final List<Thread> workers = new ArrayList<>();
    private final CamelContext camel = new DefaultCamelContext();

    Aggregator(AggregatorOptions options, Producer<byte[], byte[]> producer, InstantSource clock) {
        this.options = options;
        this.producer = producer;
        EventQueue queue = new EventQueue(options.workers(), options.batchSize(), options.batchDelayMs());
        receiver = new Receiver(queue, options.awaitsKafka(), clock, counters);
        for (int number = 0; number < options.workers(); number++) {
            Worker worker = new Worker(queue, producer, options.topic(), options.delay(), clock, counters);
            workers.add(new Thread(worker, "worker-" + number));
        }
    }

    public static void main(String[] arguments) {
        // Otherwise the events of a dead worker would never be answered.
        Thread.setDefaultUncaughtExceptionHandler((thread, error) -> {
            error.printStackTrace();
            Runtime.getRuntime().halt(FAILED);
        });
        ArgumentParser parser = AggregatorOptions.parser();
        try {
            AggregatorOptions options = AggregatorOptions.read(parser, arguments);
            Aggregator aggregator =
                    new Aggregator(options, new KafkaProducer<>(options.producer()), InstantSource.system());
            int port = aggregator.start();
            Runtime.getRuntime().addShutdownHook(new Thread(aggregator::endProcess));
            say(JsonNodeFactory.instance.objectNode().put("ready", "aggregator").put("port", port));
        } catch (ArgumentParserException error) {
            parser.handleError(error);
            System.exit(BAD_INPUT);
        } catch (Exception error) {
            System.err.println("aggregator: cannot start: " + reasonsOf(error));
            System.exit(BAD_INPUT);
        }
    }

    /** Starts receiving events, and returns the port. */
    int start() throws Exception {
        producer.partitionsFor(options.topic());  // connects before the first event is accepted
        int port = options.port() > 0 ? options.port() : freePort();
        workers.forEach(Thread::start);
        camel.getShutdownStrategy().setTimeout(LEFT_OPEN_S);
        camel.addRoutes(new RouteBuilder() {
            @Override
            public void configure() {
                errorHandler(noErrorHandler());
                from("lumberjack:127.0.0.1:" + port).process(receiver);
            }
        });
        camel.start();
        return port;
    }

    /** Stops receiving, sends the events it has, and returns whether Kafka acknowledged them all. */
    boolean end() throws InterruptedException {
        boolean isDrained = receiver.end(options.drainS());
        workers.forEach(Thread::interrupt);
        producer.close(isDrained ? Duration.ofSeconds(options.drainS()) : Duration.ZERO);
        camel.stop();
        return isDrained;
    }

    ObjectNode counters() {
        return counters.described();
    }

    private void endProcess() {
        boolean isDrained = false;
        try {
            isDrained = end();
            if (!isDrained) {
                System.err.println(
                        "aggregator: Kafka did not acknowledge all events within " + options.drainS() + " s");
            }
        } catch (InterruptedException error) {
            Thread.currentThread().interrupt();
        }
        say(counters());
        Runtime.getRuntime().halt(isDrained ? 0 : FAILED);  // after a signal the JVM would set its own status
    }

    private static void say(ObjectNode line) {
        System.out.println(line);
        System.out.flush();
    }

    /** Chooses a port, since Camel does not report one chosen by the kernel. */
    private static int freePort() throws IOException {
        try (ServerSocket probe = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return probe.getLocalPort();
        }
    }

    private static String reasonsOf(Throwable error) {
        return error.getCause() == null ? error.toString() : error.getMessage() + ": " + reasonsOf(error.getCause());
    }
}
