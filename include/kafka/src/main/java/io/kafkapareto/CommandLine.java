package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Properties;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Run a tool with its options, and read the client property files they name. */
public final class CommandLine {
    private static final ObjectMapper JSON = new ObjectMapper();

    /** A tool that returns its result as JSON. */
    public interface Tool {
        Object run(Namespace options) throws Exception;
    }

    private CommandLine() {}

    /** Print the tool's result on one line; invalid arguments end the process with status 2. */
    public static void run(ArgumentParser parser, String[] arguments, Tool tool) throws Exception {
        try {
            System.out.println(JSON.writeValueAsString(tool.run(parser.parseArgs(arguments))));
        } catch (ArgumentParserException error) {
            parser.handleError(error);
            System.exit(2);
        }
    }

    public static Properties properties(String file) throws IOException {
        Properties properties = new Properties();
        try (Reader reader = Files.newBufferedReader(Path.of(file))) {
            properties.load(reader);
        }
        return properties;
    }

    /** Read the properties of a producer with byte keys and values. */
    public static Properties producerProperties(String file) throws IOException {
        Properties properties = properties(file);
        properties.setProperty("key.serializer", ByteArraySerializer.class.getName());
        properties.setProperty("value.serializer", ByteArraySerializer.class.getName());
        return properties;
    }
}
