package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;

import java.nio.charset.StandardCharsets;
import java.util.List;
import org.apache.avro.Schema;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Every header gets a schema, and every field keeps its text. */
class AvroRowsTest {
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "id,title|id,title", "a b,a-b|a_b,a_b_1", "id,id,id|id,id_1,id_2", "1st,|_1st,_1", "x_1,x,x|x_1,x,x_2",
        "x,x,x_1|x,x_1,x_1_2",
    })
    void everyFieldHasANameOfItsOwn(String header, String names) {
        Schema schema = AvroRows.schemaOf(bytes(header), bytes("1,2,3"), (byte) ',');

        assertEquals(List.of(names.split(",")), schema.getFields().stream().map(Schema.Field::name).toList());
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "\"a\"|a", "\"a,b\"|a,b", "\"say \"\"hi\"\"\"|say \"hi\"", "\"a\"b|\"a\"b", "a\"b\"|a\"b\"", "\"\"|``",
    })
    void onlyQuotesAroundAWholeFieldAreTakenOff(String field, String text) {
        assertEquals(List.of(text, "x"), Fields.of(bytes(field + ",x"), 0, field.length() + 2, (byte) ','));
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }
}
