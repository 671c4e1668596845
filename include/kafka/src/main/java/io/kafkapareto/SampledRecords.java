package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;

/**
 * A file of records that were read from a topic: JSON Lines, one record each.
 *
 * <p>Bytes that are UTF-8 are stored as text, others in Base64, under {@code key_base64} and {@code value_base64}. A
 * missing key or value is null.
 */
public final class SampledRecords {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final String BASE64 = "_base64";

    /** A record as it was sent; key and value may be null. */
    public record Sampled(long timestampMs, byte[] key, byte[] value, List<Header> headers) {}

    private SampledRecords() {}

    /** Write the latest records, of those in order of time, whose lines do not exceed this many bytes. */
    public static void write(Path file, List<Sampled> records, long maxBytes) throws IOException {
        Deque<byte[]> lines = new ArrayDeque<>();
        long bytes = 0;
        for (int place = records.size() - 1; place >= 0; place--) {
            byte[] line = line(records.get(place));
            bytes += line.length;
            if (bytes > maxBytes) {
                break;
            }
            lines.addFirst(line);
        }
        try (OutputStream out = new BufferedOutputStream(Files.newOutputStream(file))) {
            for (byte[] line : lines) {
                out.write(line);
            }
        }
    }

    private static byte[] line(Sampled record) throws IOException {
        ObjectNode line = JSON.createObjectNode();
        if (record.timestampMs() >= 0) {
            line.put("timestamp_ms", record.timestampMs());
        }
        put(line, "key", record.key());
        put(line, "value", record.value());
        ArrayNode headers = record.headers().isEmpty() ? null : line.putArray("headers");
        for (Header header : record.headers()) {
            put(headers.addObject().put("name", header.key()), "value", header.value());
        }
        return (JSON.writeValueAsString(line) + "\n").getBytes(StandardCharsets.UTF_8);
    }

    static List<Sampled> read(Path file) throws IOException {
        List<Sampled> records = new ArrayList<>();
        for (String text : Files.readAllLines(file)) {
            JsonNode line = JSON.readTree(text);
            List<Header> headers = new ArrayList<>();
            for (JsonNode header : line.path("headers")) {
                headers.add(new RecordHeader(header.get("name").asText(), bytes(header, "value")));
            }
            records.add(new Sampled(line.path("timestamp_ms").asLong(), bytes(line, "key"), bytes(line, "value"), headers));
        }
        if (records.isEmpty()) {
            throw new IOException(file + ": has no records");
        }
        return records;
    }

    private static void put(ObjectNode line, String name, byte[] bytes) {
        if (bytes == null) {
            return;
        }
        try {
            line.put(name, StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString());
        } catch (CharacterCodingException notText) {
            line.put(name + BASE64, bytes);
        }
    }

    private static byte[] bytes(JsonNode line, String name) throws IOException {
        if (line.hasNonNull(name + BASE64)) {
            return line.get(name + BASE64).binaryValue();
        }
        return line.hasNonNull(name) ? line.get(name).asText().getBytes(StandardCharsets.UTF_8) : null;
    }
}
