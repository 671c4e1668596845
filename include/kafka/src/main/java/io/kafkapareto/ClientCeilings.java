package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.nio.ByteBuffer;
import java.util.List;
import java.util.Locale;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/**
 * Measures a producer's machine without a broker: compression per core with each of Kafka's codecs, and records per
 * thread of the load generator. Prints one JSON object.
 */
public final class ClientCeilings {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final ThreadMXBean THREADS = ManagementFactory.getThreadMXBean();
    private static final List<String> CODECS = List.of("gzip", "snappy", "lz4", "zstd");
    private static final double MIB = 1 << 20;

    private ClientCeilings() {}

    public static void main(String[] arguments) throws Exception {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("client-ceilings", true);
        parser.addArgument("--record-size").type(Integer.class).required(true).help("bytes of a record's value");
        parser.addArgument("--batch-size").type(Integer.class).required(true).help("bytes compressed at a time");
        parser.addArgument("--payload-file").help("one value per line, sent cyclically; else random letters");
        parser.addArgument("--seconds").type(Double.class).setDefault(0.4).help("CPU time per measurement");
        CommandLine.run(parser, arguments, ClientCeilings::measure);
    }

    static ObjectNode measure(Namespace options) throws IOException {
        String file = options.getString("payload_file");
        int recordSize = options.getInt("record_size");
        double seconds = options.getDouble("seconds");
        ObjectNode found = JSON.createObjectNode();
        ObjectNode codecs = found.putObject("codec_mib_s");
        for (String codec : CODECS) {
            Payloads payloads = new Payloads(file, recordSize, 0);
            compressedMibPerSecond(codec, payloads, options.getInt("batch_size"), seconds / 2);
            codecs.put(codec, compressedMibPerSecond(codec, payloads, options.getInt("batch_size"), seconds));
        }
        found.put("generator_records_s", generatedPerSecond(new Payloads(file, recordSize, 0), recordSize, seconds));
        return found;
    }

    /** Return the uncompressed bytes processed per second of this thread's CPU time. */
    private static double compressedMibPerSecond(String codec, Payloads payloads, int batchSize, double seconds)
            throws IOException {
        Compression compression = Compression.of(codec).build();
        ByteBuffer buffer = ByteBuffer.allocate(2 * batchSize);
        long bytes = 0;
        long startedNs = THREADS.getCurrentThreadCpuTime();
        long takenNs;
        do {
            buffer.clear();
            int filled = 0;
            try (OutputStream batch = compression.wrapForOutput(
                    new ByteBufferOutputStream(buffer), RecordBatch.CURRENT_MAGIC_VALUE)) {
                while (filled < batchSize) {
                    byte[] value = payloads.next("none").value();
                    batch.write(value);
                    filled += value.length;
                }
            }
            bytes += filled;
            takenNs = THREADS.getCurrentThreadCpuTime() - startedNs;
        } while (takenNs < seconds * 1e9);
        return bytes / MIB / (takenNs / 1e9);
    }

    /** Return the unthrottled rate of the generator's own loop with an idle producer. */
    private static double generatedPerSecond(Payloads payloads, int recordSize, double seconds) throws IOException {
        LoadGenerator generator = new LoadGenerator(
                "none", payloads, IdleClient::new, MonotonicClock.SYSTEM, limit -> true);
        String[] load = String.format(Locale.ROOT,
                "--topic none --record-size %d --command-config none --warmup-seconds %f --seconds %f",
                recordSize, seconds / 2, seconds).split(" ");
        try {
            var part = generator.load(LoadGenerator.parser().parseArgs(load)).get("parts").get(0);
            return part.get("acknowledged").asDouble() / part.get("sending_cpu_s").asDouble();
        } catch (ArgumentParserException error) {
            throw new IllegalStateException(error);
        }
    }
}
