package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.charset.StandardCharsets;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonRowsTest {
    private static final byte[] HEADER = bytes("id,price,zip,,id");
    private static final byte[] FIRST = bytes("7,1.50,01234,,x");

    @Test
    void namesAreUniqueAndTypesAreThoseOfTheFirstRow() {
        assertEquals("{\"id\":7,\"price\":1.50,\"zip\":\"01234\",\"column_4\":null,\"id_5\":\"x\"}", encoded("7,1.50,01234,,x"));
        assertEquals("{\"id\":-8,\"price\":2,\"zip\":\"5\",\"column_4\":\"a \\\"b\\\"\",\"id_5\":null}",
                encoded("-8,2,5,\"a \"\"b\"\"\","));
    }

    @ParameterizedTest
    @CsvSource({"'x,1.5,,,'", "'07,1.5,,,'", "'+7,1.5,,,'", "'7,1e5,,,'", "'1.5,1.5,,,'", "'7,.5,,,'"})
    void aTextWhereTheFirstRowHasANumberIsMalformed(String row) {
        assertNull(new JsonRows(HEADER, FIRST, (byte) ',').encode(bytes(row), 0, bytes(row).length));
    }

    private static String encoded(String row) {
        return new String(new JsonRows(HEADER, FIRST, (byte) ',').encode(bytes(row), 0, bytes(row).length),
                StandardCharsets.UTF_8);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
