package io.kafkapareto.ingest;

import io.kafkapareto.CommandLine;
import java.io.IOException;
import java.nio.file.Path;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.impl.Arguments;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;

/** Options of an ingestion, and the rules that they must obey together. */
final class IngestionOptions {
    /** The largest request less a batch's header, a record's own, and a key. */
    static final int MOST_ROW_BYTES = (1 << 20) - 128;

    private IngestionOptions() {}

    /** Run the tool; input that it refuses ends the process with {@link Refused#EXIT_CODE}, other failures with 2. */
    static void run(ArgumentParser parser, String[] arguments, CommandLine.Tool tool) throws Exception {
        try {
            CommandLine.run(parser, arguments, tool);
        } catch (Refused | ConfigException error) {
            System.err.println(error.getMessage());
            System.exit(Refused.EXIT_CODE);
        } catch (IOException | KafkaException error) {
            System.err.println(error);
            System.exit(2);
        }
    }

    /** Open the CSV file that this option names. */
    static CsvFile opened(Namespace options, String option) throws IOException {
        return CsvFile.open(
                Path.of(options.getString(option)), delimiter(options), options.getString("encoding"),
                options.getInt("most_row_bytes"));
    }

    static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("ingestion", true);
        parser.addArgument("--file").required(true).help("a CSV file with a header");
        parser.addArgument("--topic").required(true);
        parser.addArgument("--command-config").required(true).help("a file of producer properties");
        parser.addArgument("--delimiter").setDefault(",").help("one ASCII character between fields");
        parser.addArgument("--reader").choices("substring", "line", "slices", "mapped").setDefault("mapped");
        addEncoding(parser);
        parser.addArgument("--senders").setDefault("sequential")
                .help("sequential, parallel_stream, fork_join_N, platform_threads_N, or virtual_threads_N");
        parser.addArgument("--path").choices("producer", "batches").setDefault("producer")
                .help("the client's send(), or record batches that are built here");
        parser.addArgument("--producers").type(Integer.class).choices(Arguments.range(1, 64)).setDefault(1)
                .help("number of producers, each of which sends a range of the file");
        parser.addArgument("--processes").type(Integer.class).choices(Arguments.range(1, 64)).setDefault(1)
                .help("number of processes, each of which sends a range of the file");
        parser.addArgument("--process").type(Integer.class).setDefault(0).help("which of them this is, from 0 on");
        parser.addArgument("--meeting")
                .help("an empty folder where several processes wait for each other before they begin");
        parser.addArgument("--warmup-file").help("a CSV file that each process sends before it begins");
        parser.addArgument("--warmup-topic").help("where its rows go; needed with --warmup-file");
        parser.addArgument("--resumable").action(Arguments.storeTrue())
                .help("keep in each key where its row begins, and send only what the topic has not");
        parser.addArgument("--most-row-bytes").type(Integer.class).setDefault(MOST_ROW_BYTES)
                .help("size of the largest row that fits a request; a larger one is malformed");
        parser.addArgument("--tolerated-fraction").type(Double.class).setDefault(0.001)
                .help("share of malformed rows above which it stops");
        parser.addArgument("--max-mib-s").type(Double.class).setDefault(0.0).help("0 for no limit");
        parser.addArgument("--progress").help("a file that gets a line each second, in place of the one before");
        return parser;
    }

    /** Add how rows become values of records. */
    static void addEncoding(ArgumentParser parser) {
        parser.addArgument("--encoding").choices("bytes", "latin_1", "avro").setDefault("bytes")
                .help("rows as they stand, rows in ISO 8859-1 as UTF-8, or as Avro");
    }

    /**
     * Return what is between two fields.
     *
     * @throws Refused if it is not one byte in every encoding that a file may have, or stands for something else
     */
    static byte delimiter(Namespace options) throws Refused {
        String asked = options.getString("delimiter");
        if (!asked.matches("[\\x01-\\x7f&&[^\"\r\n]]")) {
            throw new Refused(
                    "--delimiter " + asked + ": must be one ASCII character other than a quote or a line break");
        }
        return (byte) asked.charAt(0);
    }

    /**
     * Refuse what would lose rows, send them twice, or mix them up.
     *
     * @throws Refused naming the option and what it needs
     */
    static void requireFitting(Namespace options, ProducerConfig config) throws Refused {
        boolean isSequential = Senders.of(options.getString("senders")).isSequential();
        if (options.getString("path").equals("batches") && !isSequential) {
            throw new Refused("--path batches: needs --senders sequential, since one thread builds the batches");
        }
        if (options.getString("warmup_file") != null && options.getString("warmup_topic") == null) {
            throw new Refused("--warmup-file: needs --warmup-topic, so that its rows are not among those of --topic");
        }
        if (!options.getBoolean("resumable")) {
            return;
        }
        if (!isSequential || options.getInt("producers") != 1 || options.getInt("processes") != 1) {
            throw new Refused("--resumable: needs --senders sequential, one producer and one process, so that each "
                    + "partition holds its rows in their order");
        }
        if (!config.getBoolean(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG)) {
            throw new Refused("--resumable: needs acks=all and enable.idempotence=true, so that no row is lost or there "
                    + "twice");
        }
    }
}
