package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JsonRowsTest {
    private static final List<String> HEADER = List.of("id", "price", "zip", "", "id");
    private static final List<String> FIRST = List.of("7", "1.50", "01234", "", "x");
    private static final String SCHEMA = "{\"required\": [\"n\", \"d\"], \"properties\": {"
            + "\"d\": {\"type\": \"number\"}, \"n\": {\"type\": [\"null\", \"integer\"]}, "
            + "\"b\": {\"type\": \"boolean\"}, \"t\": {\"type\": \"string\"}, \"optional\": {\"type\": \"object\"}}}";

    @Test
    void namesAreUniqueAndTypesAreThoseOfTheFirstRow() {
        assertEquals("{\"id\":7,\"price\":1.50,\"zip\":\"01234\",\"column_4\":null,\"id_5\":\"x\"}", byRule("7,1.50,01234,,x"));
        assertEquals("{\"id\":-8,\"price\":2e-5,\"zip\":\"5\",\"column_4\":\"a \\\"b\\\"\",\"id_5\":null}",
                byRule("-8,2e-5,5,\"a \"\"b\"\"\","));
    }

    @ParameterizedTest
    @CsvSource({"'x,1.5,,,'", "'07,1.5,,,'", "'+7,1.5,,,'", "'7,1e,,,'", "'1.5,1.5,,,'", "'7,.5,,,'", "'7,NaN,,,'", "'7,1'"})
    void aTextWhereTheFirstRowHasANumberIsMalformed(String row) {
        assertNull(byRule(row));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "x,7,1.5E3,True|{\"d\":1.5E3,\"n\":7,\"b\":true,\"t\":\"x\"}",
        ",,2,|{\"d\":2,\"n\":null,\"t\":\"\"}",
        "x,7,,true|",
        "x,7.5,1,true|",
        "x,7,1,yes|",
        "x,1234567890123456789,1,|{\"d\":1,\"n\":1234567890123456789,\"t\":\"x\"}",
    })
    void aSchemaGivesTheTypes(String row, String object) throws Refused {
        assertEquals(object, encoded(JsonRows.columnsOf(SCHEMA, List.of("t", "n", "d", "b")), row));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "t,n,d,b,more|the schema has no field for the column 'more'",
        "t,d|the schema's field 'n' is not a column of the file; its columns: 't', 'd'",
        "t,n,d,b,optional|the schema's property 'optional': type \"object\": expected string, integer, number or boolean, or "
                + "one of them and null",
    })
    void aSchemaForOtherColumnsIsRefused(String header, String says) {
        assertEquals(says, assertThrows(Refused.class,
                () -> JsonRows.columnsOf(SCHEMA, List.of(header.split(",")))).getMessage());
    }

    @Test
    void aTextThatIsNoSchemaIsRefused() {
        assertEquals("the JSON schema has no properties",
                assertThrows(Refused.class, () -> JsonRows.columnsOf("{}", List.of("a"))).getMessage());
        assertEquals("not a JSON schema: ",
                assertThrows(Refused.class, () -> JsonRows.columnsOf("{", List.of("a"))).getMessage().substring(0, 19));
    }

    private static String byRule(String row) {
        return encoded(JsonRows.inferredColumns(HEADER, FIRST), row);
    }

    private static String encoded(List<TypedColumn> columns, String row) {
        byte[] bytes = row.getBytes(StandardCharsets.UTF_8);
        byte[] value = new JsonRows(columns, (byte) ',').encode(bytes, 0, bytes.length);
        return value == null ? null : new String(value, StandardCharsets.UTF_8);
    }
}
