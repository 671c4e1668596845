package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests the keys that columns give, and refused names of columns. */
class KeysTest {
    private static final String ROWS = "id; name;\"a,b\";id2;x;x\n7;Müller;1,5;;y;z\n";

    @TempDir
    private Path folder;

    private CsvFile file;

    @BeforeEach
    void open() throws IOException {
        Path path = Files.writeString(folder.resolve("rows.csv"), ROWS);
        file = CsvFile.open(path, (byte) ';', "bytes", IngestionOptions.MOST_ROW_BYTES);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "id|7;Müller;1,5;;y;z|7",
        "name|7;Müller;1,5;;y;z|Müller",
        "name|7;\"a \"\"b\"\"; c\";1,5;;y;z|a \"b\"; c",
        "\"a,b\"|7;Müller;1,5;;y;z|1,5",
        "id2|7;Müller;1,5;;y;z|``",
        "id, name|7;Müller;1,5;;y;z|{\"id\":\"7\",\"name\":\"Müller\"}",
        "name,id|;a;1,5;;y;z|{\"name\":\"a\",\"id\":null}",
    })
    void aKeyIsTheTextOfOneColumnOrAnObjectOfSeveral(String columns, String row, String key) throws IOException {
        assertEquals(key, new String(keyOf(columns, row), StandardCharsets.UTF_8));
    }

    @ParameterizedTest
    @CsvSource({"name, 7", "'id,name', 7"})
    void aRowWithoutTheFieldHasNoKey(String columns, String row) throws IOException {
        assertNull(keyOf(columns, row));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "no|has no column 'no' for the key; its columns: 'id', 'name', 'a,b', 'id2', 'x', 'x'",
        "id,|has no column '' for the key",
        "id,id|the key's columns id,id: one is named twice",
        "x|has two columns 'x'; the key needs a unique name",
    })
    void otherNamesAreRefused(String columns, String says) {
        String said = assertThrows(Refused.class, () -> file.columnsOf(columns)).getMessage();
        assertTrue(said.replace(folder.resolve("rows.csv") + ": ", "").startsWith(says), said);
    }

    @Test
    void noNamesGiveNoKeys() throws IOException {
        assertArrayEquals(new int[0], file.columnsOf(""));
        assertNull(file.newKeyEncoder(new int[0]));
    }

    private byte[] keyOf(String columns, String row) throws IOException {
        byte[] bytes = row.getBytes(StandardCharsets.UTF_8);
        return file.newKeyEncoder(file.columnsOf(columns)).encode(bytes, 0, bytes.length);
    }
}
