package io.kafkapareto.aggregator;

import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.Map;

/** Events as Filebeat sends them. */
final class Events {
    static final String READ_AT = "2025-11-25T02:00:00.250Z";
    static final long READ_AT_MS = 1_764_036_000_250L;

    private Events() {
    }

    /** Returns a log entry on one line. */
    static String line(String requestId) {
        return "{\"request_id\":\"" + requestId + "\",\"t0\":1764036000.123,\"method\":\"GET\",\"uri\":\"/cart?item=7\","
                + "\"status\":200,\"bytes\":512,\"request_s\":0.012,\"upstream_s\":\"0.011\",\"session\":\"s-1\","
                + "\"user_agent\":\"load\"}";
    }

    /** Returns the same on several lines. */
    static String lines(String requestId) {
        return line(requestId).replace("{", "{\n  ").replace(",\"", ",\n  \"").replace("}", "\n}");
    }

    static Map<String, Object> fields(String message) {
        return Map.of("@timestamp", READ_AT, "t2", READ_AT_MS + 30, "message", message);
    }

    /** Returns the event as the protocol carries it. */
    static String json(String message) throws JsonProcessingException {
        return new ObjectMapper().writeValueAsString(fields(message));
    }
}
