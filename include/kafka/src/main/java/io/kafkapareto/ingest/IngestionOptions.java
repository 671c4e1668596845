package io.kafkapareto.ingest;

import io.kafkapareto.CommandLine;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.impl.Arguments;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigException;

/** Options of an ingestion, and the rules for their combinations. */
final class IngestionOptions {
    /** The largest request minus the headers of batch and record, and the row's offset. */
    static final int MOST_ROW_BYTES = (1 << 20) - 128;

    private IngestionOptions() {}

    /** Run the tool; refused input ends the process with {@link Refused#EXIT_CODE}, other failures with 2. */
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

    /** Open the CSV file named by this option. */
    static CsvFile opened(Namespace options, String option) throws IOException {
        if (options.getString("encoding").equals("latin_1") && !options.getString("key").isEmpty()) {
            throw new Refused("--key: needs a file in UTF-8");
        }
        CsvFile file = CsvFile.open(
                Path.of(options.getString(option)), delimiter(options), options.getString("encoding"),
                options.getInt("most_row_bytes"));
        try {
            return file.withSchema(schema(options), options.getInt("schema_id"));
        } catch (Refused error) {
            throw new Refused(options.getString("schema") + ": " + error.getMessage());
        }
    }

    /** Return the text of the schema of values; empty for types from the file's first row. */
    static String schema(Namespace options) throws IOException {
        String file = options.getString("schema");
        return file == null ? "" : Files.readString(Path.of(file));
    }

    static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("ingestion", true);
        parser.addArgument("--file").required(true).help("a CSV file with a header");
        parser.addArgument("--topic").required(true);
        parser.addArgument("--command-config").required(true).help("a file of producer properties");
        parser.addArgument("--delimiter").setDefault(",").help("one ASCII character between fields");
        parser.addArgument("--reader").choices("substring", "line", "slices", "mapped").setDefault("mapped");
        addEncoding(parser);
        addKey(parser);
        parser.addArgument("--senders").setDefault("sequential")
                .help("sequential, parallel_stream, fork_join_N, platform_threads_N, or virtual_threads_N");
        parser.addArgument("--path").choices("producer", "batches").setDefault("producer")
                .help("the client's send(), or record batches built by this program");
        parser.addArgument("--producers").type(Integer.class).choices(Arguments.range(1, 64)).setDefault(1)
                .help("number of producers; each sends a range of the file");
        parser.addArgument("--processes").type(Integer.class).choices(Arguments.range(1, 64)).setDefault(1)
                .help("number of processes; each sends a range of the file");
        parser.addArgument("--process").type(Integer.class).setDefault(0).help("index of this process, from 0");
        parser.addArgument("--meeting")
                .help("an empty folder for synchronizing the start of several processes");
        parser.addArgument("--warmup-file").help("a CSV file that each process sends first");
        parser.addArgument("--warmup-topic").help("topic of its rows; required with --warmup-file");
        parser.addArgument("--resumable").action(Arguments.storeTrue())
                .help("keep each row's file offset in its record, and send only rows missing in the topic");
        addFromOffsets(parser);
        parser.addArgument("--malformed-from-offset").type(Long.class).setDefault(0L)
                .help("offset from which on the dead-letter topic's records belong to this ingestion");
        parser.addArgument("--most-row-bytes").type(Integer.class).setDefault(MOST_ROW_BYTES)
                .help("size of the largest row that fits a request; a larger one is malformed");
        parser.addArgument("--tolerated-fraction").type(Double.class).setDefault(0.001)
                .help("largest tolerated share of malformed rows");
        parser.addArgument("--max-mib-s").type(Double.class).setDefault(0.0).help("rate limit; 0 for none");
        parser.addArgument("--progress").help("a file for one line of progress, overwritten each second");
        return parser;
    }

    /** Add the offsets of the records that a topic held before the ingestion. */
    static void addFromOffsets(ArgumentParser parser) {
        parser.addArgument("--from-offsets").setDefault("")
                .help("offsets by partition, like 0,12,7, from which on the topic's records belong to this ingestion");
    }

    /** Return these offsets; empty if the topic held no records. */
    static long[] fromOffsets(Namespace options) {
        String offsets = options.getString("from_offsets");
        return offsets.isEmpty() ? new long[0] : Arrays.stream(offsets.split(",")).mapToLong(Long::parseLong).toArray();
    }

    /** Add the columns that become the record's key. */
    static void addKey(ArgumentParser parser) {
        parser.addArgument("--key").setDefault("")
                .help("columns, separated by commas, whose text (of one) or JSON object (of several) is the record's key");
    }

    /** Add the encoding of rows as record values. */
    static void addEncoding(ArgumentParser parser) {
        parser.addArgument("--encoding").choices("bytes", "latin_1", "avro", "json").setDefault("bytes")
                .help("rows unchanged, converted from ISO 8859-1 to UTF-8, as Avro, or as JSON objects");
        parser.addArgument("--schema").help("a file with an Avro or a JSON schema of the values");
        parser.addArgument("--schema-id").type(Integer.class).setDefault(-1)
                .help("ID of the Avro schema in a registry, which precedes each value; -1 for none");
    }

    /**
     * Return the delimiter of fields.
     *
     * @throws Refused if it is not one byte in every allowed encoding, or has another meaning
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
     * Refuse options that would lose, duplicate or reorder rows.
     *
     * @throws Refused naming the option and its requirement
     */
    static void requireFitting(Namespace options, ProducerConfig config) throws Refused {
        boolean isSequential = Senders.of(options.getString("senders")).isSequential();
        if (options.getString("path").equals("batches") && !isSequential) {
            throw new Refused("--path batches: needs --senders sequential, because one thread builds the batches");
        }
        if (options.getString("warmup_file") != null && options.getString("warmup_topic") == null) {
            throw new Refused("--warmup-file: needs --warmup-topic, because its rows must not go to --topic");
        }
        if (!options.getBoolean("resumable")) {
            if (!options.getString("key").isEmpty()) {
                throw new Refused("--key: needs --resumable, which sends a key's rows in the file's order");
            }
            return;
        }
        if (!isSequential || options.getInt("producers") != 1 || options.getInt("processes") != 1) {
            throw new Refused("--resumable: needs --senders sequential, one producer and one process, to keep "
                    + "each partition's rows in order");
        }
        if (!config.getBoolean(ProducerConfig.ENABLE_IDEMPOTENCE_CONFIG)) {
            throw new Refused("--resumable: needs acks=all and enable.idempotence=true, to prevent lost and "
                    + "duplicate rows");
        }
    }
}
