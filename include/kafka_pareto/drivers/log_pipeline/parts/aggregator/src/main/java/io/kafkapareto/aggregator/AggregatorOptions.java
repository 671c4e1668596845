package io.kafkapareto.aggregator;

import java.util.Locale;
import java.util.Properties;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.impl.Arguments;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * The aggregator's options.
 *
 * @param port on 127.0.0.1; 0 for any
 * @param awaitsKafka whether to acknowledge events once Kafka has acknowledged them, rather than once they are queued
 */
record AggregatorOptions(
        int port, String topic, int workers, int batchSize, long batchDelayMs, boolean awaitsKafka, long drainS,
        PlantedDelay delay, Properties producer) {
    private static final int LAST_PORT = 65_535;
    private static final int MOST_WORKERS = 64;
    private static final int MOST_EVENTS = 100_000;
    private static final int MOST_DELAY_MS = 600_000;

    static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("aggregator", true);
        parser.addArgument("--bootstrap-servers").required(true);
        parser.addArgument("--topic").required(true);
        parser.addArgument("--port").type(Integer.class).choices(Arguments.range(0, LAST_PORT)).setDefault(0)
                .help("port on 127.0.0.1; 0 for any");
        parser.addArgument("--workers").type(Integer.class).choices(Arguments.range(1, MOST_WORKERS)).setDefault(2)
                .help("number of threads that send batches; the queue has room for a batch of each");
        parser.addArgument("--batch-size").type(Integer.class).choices(Arguments.range(1, MOST_EVENTS)).setDefault(125)
                .help("largest batch, in events");
        parser.addArgument("--batch-delay-ms").type(Integer.class).choices(Arguments.range(0, MOST_DELAY_MS))
                .setDefault(50).help("how long an incomplete batch waits for each further event");
        parser.addArgument("--acknowledge").choices("kafka", "received").setDefault("kafka")
                .help("acknowledge events once Kafka has, or once they are queued, like Logstash's memory queue");
        parser.addArgument("--linger-ms").type(Integer.class).choices(Arguments.range(0, MOST_DELAY_MS)).setDefault(0);
        parser.addArgument("--acks").choices("0", "1", "all").setDefault("1");
        parser.addArgument("--drain-s").type(Integer.class).choices(Arguments.range(0, MOST_DELAY_MS)).setDefault(10)
                .help("time limit for sending the remaining events on shutdown");
        parser.addArgument("--planted-delay-ms").type(Integer.class).choices(Arguments.range(0, MOST_DELAY_MS))
                .setDefault(0).help("for tests: delay of each batch");
        parser.addArgument("--planted-at").choices("receive", "send").setDefault("receive")
                .help("for tests: place of the delay, before t4 is stamped or between t4 and the producer");
        return parser;
    }

    /**
     * Reads the options of a command line.
     *
     * @throws ArgumentParserException naming the option and its rule
     */
    static AggregatorOptions read(ArgumentParser parser, String[] arguments) throws ArgumentParserException {
        Namespace options = parser.parseArgs(arguments);
        boolean awaitsKafka = options.getString("acknowledge").equals("kafka");
        Properties producer = new Properties();
        producer.setProperty(ProducerConfig.BOOTSTRAP_SERVERS_CONFIG, options.getString("bootstrap_servers"));
        producer.setProperty(ProducerConfig.ACKS_CONFIG, options.getString("acks"));
        producer.setProperty(ProducerConfig.LINGER_MS_CONFIG, options.getInt("linger_ms").toString());
        producer.setProperty(ProducerConfig.KEY_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        producer.setProperty(ProducerConfig.VALUE_SERIALIZER_CLASS_CONFIG, ByteArraySerializer.class.getName());
        if (!awaitsKafka) {
            // Acknowledged events are never sent again, so the client retries as long as the process lives.
            producer.setProperty(ProducerConfig.DELIVERY_TIMEOUT_MS_CONFIG, String.valueOf(Integer.MAX_VALUE));
        }
        PlantedDelay.Place place =
                PlantedDelay.Place.valueOf(options.getString("planted_at").toUpperCase(Locale.ROOT));
        return new AggregatorOptions(
                options.getInt("port"), options.getString("topic"), options.getInt("workers"),
                options.getInt("batch_size"), options.getInt("batch_delay_ms"), awaitsKafka, options.getInt("drain_s"),
                new PlantedDelay(place, options.getInt("planted_delay_ms")), producer);
    }
}
