package io.kafkapareto.aggregator;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.Map;

/**
 * Holds the JSON object that goes to Kafka for an event: a request that the web server has logged, or the beginning of
 * a message that is none.
 */
final class LogRecord {
    private static final int MOST_MALFORMED_CHARACTERS = 200;
    private static final double MS = 1e3;
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            // Half a surrogate pair, which a client's escapes may be, has no UTF-8.
            .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
            .build();

    private final ObjectNode object;

    private LogRecord(ObjectNode object) {
        this.object = object;
    }

    /** Reads the event's message, a JSON object on one line or on several, and its stamps t1 to t3. */
    static LogRecord of(Event event) {
        Map<?, ?> fields = event.payload() instanceof Map<?, ?> map ? map : Map.of();
        String message = fields.get("message") instanceof String text ? text : String.valueOf(event.payload());
        ObjectNode object = JSON.createObjectNode();
        if (!readRequest(message, object)) {
            object.put("malformed", message.substring(0, Math.min(message.length(), MOST_MALFORMED_CHARACTERS)));
        }
        return new LogRecord(object
                .put("t1", fields.get("@timestamp") instanceof String text ? millis(text) : null)
                .put("t2", fields.get("t2") instanceof Number number ? number.longValue() : null)
                .put("t3", event.receivedMs()));
    }

    boolean isMalformed() {
        return object.has("malformed");
    }

    /** Returns the record's value, with the time at which it is handed over (t4). */
    byte[] value(long handedOverMs) {
        try {
            return JSON.writeValueAsBytes(object.put("t4", handedOverMs));
        } catch (JsonProcessingException error) {
            throw new IllegalStateException("a tree of texts and numbers cannot be written", error);
        }
    }

    private static boolean readRequest(String message, ObjectNode object) {
        JsonNode line;
        try {
            line = JSON.readTree(message);
        } catch (JsonProcessingException error) {
            return false;
        }
        if (!isRequest(line)) {
            return false;
        }
        object.put("request_id", line.get("request_id").textValue())
                .put("t0", Math.round(line.get("t0").doubleValue() * MS))
                .put("status", line.get("status").intValue())
                .put("method", line.get("method").textValue())
                .put("uri", line.get("uri").textValue())
                .put("bytes", line.get("bytes").longValue())
                .put("session", line.get("session").textValue())
                // nginx gives three decimals of a second.
                .put("request_ms", (double) Math.round(line.get("request_s").doubleValue() * MS));
        return true;
    }

    private static boolean isRequest(JsonNode line) {
        return line.path("request_id").isTextual()
                && isNumber(line.path("t0"))
                && line.path("status").isInt()
                && line.path("method").isTextual()
                && line.path("uri").isTextual()
                && line.path("bytes").isIntegralNumber() && line.path("bytes").canConvertToLong()
                && line.path("session").isTextual()
                && isNumber(line.path("request_s"));
    }

    private static boolean isNumber(JsonNode found) {
        return found.isNumber() && Double.isFinite(found.doubleValue());
    }

    private static Long millis(String timestamp) {
        try {
            return Instant.parse(timestamp).toEpochMilli();
        } catch (DateTimeParseException error) {
            return null;
        }
    }
}
