package io.kafkapareto.aggregator;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.json.JsonWriteFeature;
import com.fasterxml.jackson.databind.DeserializationFeature;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.json.JsonMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.time.Instant;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Map;

/** The JSON object sent to Kafka for an event: a logged request, or the beginning of a malformed message. */
record LogRecord(ObjectNode object) {
    private static final int MOST_MALFORMED_CHARACTERS = 200;
    private static final double MS = 1e3;
    private static final List<String> TEXTS = List.of("request_id", "method", "uri", "session");
    private static final JsonMapper JSON = JsonMapper.builder()
            .enable(DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            // A client's escapes may contain half a surrogate pair, which UTF-8 cannot encode.
            .enable(JsonWriteFeature.ESCAPE_NON_ASCII)
            .build();

    /** Reads the event's message, a JSON object on one line or several, and its timestamps t1 to t3. */
    static LogRecord of(Event event) {
        Map<?, ?> fields = event.payload() instanceof Map<?, ?> map ? map : Map.of();
        String message = fields.get("message") instanceof String text ? text : String.valueOf(event.payload());
        return new LogRecord(requestOf(message)
                .put("t1", fields.get("@timestamp") instanceof String text ? millis(text) : null)
                .put("t2", fields.get("t2") instanceof Number number ? number.longValue() : null)
                .put("t3", event.receivedMs()));
    }

    boolean isMalformed() {
        return object.has("malformed");
    }

    /** Returns the record's value, with the time at which it is passed to the producer (t4). */
    byte[] value(long sentMs) {
        try {
            return JSON.writeValueAsBytes(object.put("t4", sentMs));
        } catch (JsonProcessingException error) {
            throw new IllegalStateException("cannot serialize a log record", error);
        }
    }

    private static ObjectNode requestOf(String message) {
        ObjectNode request = JSON.createObjectNode();
        try {
            JsonNode line = JSON.readTree(message);
            if (isRequest(line)) {
                TEXTS.forEach(name -> request.set(name, line.get(name)));
                return request
                        .put("t0", millis(line.get("t0")))
                        .put("status", line.get("status").intValue())
                        .put("bytes", line.get("bytes").longValue())
                        .put("request_ms", (double) millis(line.get("request_s")));
            }
        } catch (JsonProcessingException malformed) {
            // handled like any other message that is not a request
        }
        return request.put("malformed", message.substring(0, Math.min(message.length(), MOST_MALFORMED_CHARACTERS)));
    }

    /** Returns whether the line is a request; {@code entry.go} of the Collector has the same rules. */
    private static boolean isRequest(JsonNode line) {
        return TEXTS.stream().allMatch(name -> line.path(name).isTextual())
                && isFinite(line.path("t0"))
                && isFinite(line.path("request_s"))
                && line.path("status").isInt()
                && line.path("bytes").isIntegralNumber() && line.path("bytes").canConvertToLong();
    }

    private static boolean isFinite(JsonNode found) {
        return found.isNumber() && Double.isFinite(found.doubleValue());
    }

    /** Rounds to whole milliseconds, as nginx gives three decimals of a second. */
    private static long millis(JsonNode seconds) {
        return Math.round(seconds.doubleValue() * MS);
    }

    private static Long millis(String timestamp) {
        try {
            return Instant.parse(timestamp).toEpochMilli();
        } catch (DateTimeParseException error) {
            return null;
        }
    }
}
