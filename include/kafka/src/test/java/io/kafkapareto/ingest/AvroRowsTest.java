package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.generic.GenericDatumReader;
import org.apache.avro.io.DecoderFactory;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every header gets a schema, a given schema gives the types, and every field keeps its text. */
class AvroRowsTest {
    private static final String SCHEMA = "{\"type\": \"record\", \"name\": \"r\", \"fields\": ["
            + "{\"name\": \"i\", \"type\": \"int\"}, {\"name\": \"a_b\", \"type\": [\"null\", \"float\"]}, "
            + "{\"name\": \"flag\", \"type\": [\"boolean\", \"null\"]}, {\"name\": \"t\", \"type\": \"string\"}]}";
    private static final List<String> HEADER = List.of("t", "flag", "a b", "i");

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "id,title|id,title", "a b,a-b|a_b,a_b_1", "id,id,id|id,id_1,id_2", "1st,|_1st,_1", "x_1,x,x|x_1,x,x_2",
        "x,x,x_1|x,x_1,x_1_2",
    })
    void everyFieldHasANameOfItsOwn(String header, String names) throws Refused {
        List<String> columns = List.of(header.split(",", -1));
        Schema schema = AvroRows.schemaOf(columns, List.of("1", "2.5", "03"));

        assertEquals(List.of(names.split(",")), schema.getFields().stream().map(Schema.Field::name).toList());
        assertEquals(columns.size(), AvroRows.columnsOf(schema, columns).size());
        assertEquals("[\"null\",\"long\"]", schema.getFields().get(0).schema().toString());
        assertEquals("[\"null\",\"double\"]", schema.getFields().get(1).schema().toString());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "x,TRUE,1.5,-7|{\"i\": -7, \"a_b\": 1.5, \"flag\": true, \"t\": \"x\"}",
        ",,,3|{\"i\": 3, \"a_b\": null, \"flag\": null, \"t\": \"\"}",
    })
    void aSchemaGivesTheTypesAndItsNumberPrecedesTheValue(String row, String record) throws IOException {
        Schema schema = AvroRows.parsed(SCHEMA);
        byte[] value = encoded(row, 513);

        assertEquals(ByteBuffer.wrap(new byte[] {0, 0, 0, 2, 1}), ByteBuffer.wrap(value, 0, 5));
        var decoder = DecoderFactory.get().binaryDecoder(value, 5, value.length - 5, null);
        assertEquals(record, new GenericDatumReader<>(schema).read(null, decoder).toString());
        assertTrue(decoder.isEnd());
        assertEquals(value.length - 5, encoded(row, -1).length);
    }

    @ParameterizedTest
    @CsvSource({"'x,true,1.5,'", "'x,true,1.5,3000000000'", "'x,1,1.5,3'", "'x,true,one,3'", "'x,true,1e39,3'", "'x,true,1.5'"})
    void aRowOfOtherTypesIsMalformed(String row) throws Refused {
        assertNull(encoded(row, 1));
    }

    @Test
    void aSchemaThatDoesNotFitIsRefused() {
        requireRefused(List.of("t", "flag", "a b"), "the schema's field 'i' is not a column of the file; its columns: 't', 'flag', 'a_b'");
        requireRefused(List.of("t", "flag", "a b", "i", "z"), "the schema has no field for the column 'z'");
        assertEquals("the schema is of type string; expected an Avro record",
                assertThrows(Refused.class, () -> AvroRows.parsed("\"string\"")).getMessage());
        assertTrue(assertThrows(Refused.class, () -> AvroRows.parsed("{")).getMessage().startsWith("not an Avro schema: "));
        String nested = SCHEMA.replace("\"int\"", "{\"type\": \"array\", \"items\": \"int\"}");
        assertTrue(assertThrows(Refused.class, () -> AvroRows.columnsOf(AvroRows.parsed(nested), HEADER)).getMessage()
                .startsWith("the schema's field 'i': type {\"type\":\"array\""));
        String twoTypes = SCHEMA.replace("\"int\"", "[\"int\", \"string\"]");
        assertTrue(assertThrows(Refused.class, () -> AvroRows.columnsOf(AvroRows.parsed(twoTypes), HEADER)).getMessage()
                .startsWith("the schema's field 'i': type [\"int\",\"string\"]: expected"));
        String noDefault = SCHEMA.replace("\"int\"", "\"int\", \"default\": \"x\"");
        assertTrue(assertThrows(Refused.class, () -> AvroRows.parsed(noDefault)).getMessage().startsWith("not an Avro"));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "\"a\"|a", "\"a,b\"|a,b", "\"say \"\"hi\"\"\"|say \"hi\"", "\"a\"b|\"a\"b", "a\"b\"|a\"b\"", "\"\"|``",
    })
    void onlyQuotesAroundAWholeFieldAreTakenOff(String field, String text) {
        assertEquals(List.of(text, "x"), Fields.of(bytes(field + ",x"), 0, field.length() + 2, (byte) ','));
    }

    private static void requireRefused(List<String> header, String says) {
        assertEquals(says, assertThrows(Refused.class,
                () -> AvroRows.columnsOf(AvroRows.parsed(SCHEMA), header)).getMessage());
    }

    private static byte[] encoded(String row, int schemaId) throws Refused {
        Schema schema = AvroRows.parsed(SCHEMA);
        var rows = new AvroRows(schema, AvroRows.columnsOf(schema, HEADER), (byte) ',', schemaId);
        return rows.encode(bytes(row), 0, bytes(row).length);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
