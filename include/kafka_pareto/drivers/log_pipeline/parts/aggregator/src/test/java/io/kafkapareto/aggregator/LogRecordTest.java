package io.kafkapareto.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class LogRecordTest {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long T3 = Events.READ_AT_MS + 40;
    private static final long T4 = Events.READ_AT_MS + 50;

    @Test
    void aRequestHasItsFieldsAndAllTimestamps() throws Exception {
        assertEquals(
                JSON.readTree("{\"request_id\":\"r-1\",\"t0\":1764036000123,\"t1\":1764036000250,\"t2\":1764036000280,"
                        + "\"t3\":1764036000290,\"t4\":1764036000300,\"status\":200,\"method\":\"GET\","
                        + "\"uri\":\"/cart?item=7\",\"bytes\":512,\"session\":\"s-1\",\"request_ms\":12.0}"),
                value(Events.fields(Events.line("r-1"))));
    }

    @Test
    void aRequestOnSeveralLinesIsTheSame() throws Exception {
        assertTrue(Events.lines("r-1").lines().count() > 5);
        assertEquals(value(Events.fields(Events.line("r-1"))), value(Events.fields(Events.lines("r-1"))));
    }

    @Test
    void everyMillisecondOfTheWebServerSurvives() throws Exception {
        for (int ms = 0; ms < 1000; ms++) {
            String line = Events.line("r").replace("1764036000.123", String.format("1764036000.%03d", ms));
            assertEquals(1_764_036_000_000L + ms, value(Events.fields(line)).get("t0").longValue());
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"", "no JSON", "[1]", "null", "{}", "{\"request_id\":\"r-1\""})
    void aMessageThatIsNotARequestIsMalformed(String message) throws Exception {
        assertMalformed(message, message);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "\"r-1\"->7", "1764036000.123->\"now\"", "1764036000.123->1e999", "200->\"200\"", "200->200.5",
        "512->99999999999999999999", "0.012->null", "\"s-1\"->null", "}->} {",
    })
    void aRequestWithAFieldOfTheWrongTypeIsMalformed(String change) throws Exception {
        String[] sides = change.split("->");
        String message = Events.line("r-1").replace(sides[0], sides[1]);
        assertMalformed(message, message.substring(0, Math.min(message.length(), 200)));
    }

    @Test
    void theBeginningOfAMalformedMessageIsKept() throws Exception {
        assertMalformed("x".repeat(10_000), "x".repeat(200));
    }

    @Test
    void halfASurrogatePairIsForwarded() throws Exception {
        String line = Events.line("r-1").replace("/cart", "/\\ud800");
        assertEquals("/\ud800?item=7", value(Events.fields(line)).get("uri").textValue());
    }

    @Test
    void missingOrInvalidTimestampsAreNull() throws Exception {
        JsonNode value = value(Map.of("message", Events.line("r-1"), "@timestamp", "yesterday", "t2", "soon"));

        assertEquals("r-1", value.get("request_id").textValue());
        assertTrue(value.get("t1").isNull());
        assertTrue(value.get("t2").isNull());
        assertEquals(T3, value.get("t3").longValue());
    }

    @Test
    void aPayloadWithoutAMessageIsMalformed() throws Exception {
        assertEquals("[1, 2]", value(List.of(1, 2)).get("malformed").textValue());
    }

    private static void assertMalformed(String message, String kept) throws Exception {
        LogRecord record = LogRecord.of(new Event(Events.fields(message), T3, failure -> { }));
        assertTrue(record.isMalformed());
        JsonNode value = JSON.readTree(record.value(T4));
        assertEquals(kept, value.get("malformed").textValue());
        assertEquals(List.of(Events.READ_AT_MS, Events.READ_AT_MS + 30, T3, T4), List.of(
                value.get("t1").longValue(), value.get("t2").longValue(), value.get("t3").longValue(),
                value.get("t4").longValue()));
        assertFalse(value.has("request_id"));
    }

    private static JsonNode value(Object payload) throws Exception {
        return JSON.readTree(LogRecord.of(new Event(payload, T3, failure -> { })).value(T4));
    }
}
