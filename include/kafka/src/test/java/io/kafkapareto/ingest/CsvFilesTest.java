package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Reads files of common programs correctly, or refuses them with their format and the conversion. */
class CsvFilesTest {
    private static final Path CASES = Path.of("../../tests/fixtures/csv");
    private static final int MOST_BYTES = IngestionOptions.MOST_ROW_BYTES;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @CsvSource({
        "01_sep_line.csv, bytes, 200, 0, 0",
        "03_dup_header.csv, bytes, 200, 0, 0",
        "03_dup_header.csv, avro, 200, 0, 0",
        "12_total_row.csv, bytes, 200, 1, 1",
        "21_blank_lines.csv, bytes, 200, 0, 200",
        "22_quoted_newline.csv, bytes, 200, 0, 0",
        "24_latin1.csv, latin_1, 200, 0, 0",
    })
    void casesThatAreRead(String name, String encoding, long rows, long malformed, long blank) throws IOException {
        assertEquals(held(rows, malformed, blank), held(CASES.resolve(name), encoding));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "15_comment.csv|line 1: looks like a comment, expected the header: '# exported 2024'; remove such lines: sed",
        "20_utf16le_bom.csv|is UTF-16, expected UTF-8 text; convert it with: iconv -f UTF-16 -t UTF-8 ",
        "23_cr_only.csv|ends its lines with carriage returns, expected line feeds; convert it with: tr '\\r' '\\n' <",
        "24_latin1.csv|line 2: not UTF-8: '0,M\uFFFDller,0'; give its encoding: ENCODING=cp1252 ",
        "25_gzip.csv.gz|is compressed by gzip, expected UTF-8 text; convert it with: gzip -dc ",
    })
    void casesThatAreRefused(String name, String says) {
        assertRefused(CASES.resolve(name), says);
    }

    @Test
    void textInAnyWideEncodingIsRefused() throws IOException {
        String text = "id,name\n1,one\n2,two\n";
        for (String each : new String[] {"UTF-16LE", "UTF-16BE"}) {
            assertRefused(write(text.getBytes(each)),
                    "contains NUL characters, typical of UTF-16; convert it with: iconv -f " + each);
            assertRefused(write(("\uFEFF" + text).getBytes(each)), "is UTF-16, ");
        }
        for (String each : new String[] {"UTF-32LE", "UTF-32BE"}) {
            assertRefused(write(("\uFEFF" + text).getBytes(each)), "is UTF-32, ");
            assertRefused(write(text.getBytes(each)), "contains NUL characters");
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "``|is empty",
        "\\n\\n|is empty",
        "a,b\\n1,\\0\\n|contains NUL characters, invalid in CSV; remove them with: tr -d",
        "a,\"b\\n1,2\\n|line 1: the header: unclosed quote",
        "a,b\\xff\\n1,2\\n|line 1: the header: not UTF-8",
        "\\n\\na;b\\n1;2|line 3: has one field with the delimiter ',', but 2 with ';': 'a;b'",
        "sep=;\\na,b\\n1,2|line 2: has one field with the delimiter ';', but 2 with ',': 'a,b'",
        "sep=;|has a header but no rows",
        "a,b\\n\\n1;2|line 3: number of fields differs from the header: '1;2' (1 of the first 1 rows are malformed",
    })
    void headersAndFirstRowsAreChecked(String text, String says) throws IOException {
        assertRefused(write(bytes(text)), says);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "\\xef\\xbb\\xbfa,b\\n1,2\\n|1|0|0",
        "\\xef\\xbb\\xbfsep=;\\n\\na;b\\n1;2\\n|1|0|0",
        "\"sep=\\t\"\\r\\na\\tb\\r\\n1\\t2\\r\\n|1|0|0",
        "#,b\\n1,2\\n|1|0|0",
        "a,b\\r\\n\\r\\n1,\"x\\r\\n\\r\\ny\"\\r\\n\\r\\n|1|0|2",
        "a,b,c\\n1,2,3\\n1,2,3\\n1,\"a,2\\n2,b,3\\n3,b,3\\n4\",3\\n|3|0|0",
        "a,b,c\\n1,2,3\\n1,2,3\\n1,\"a,2\\n2,b,3\\n3,b,3\\n4\",b,3\\n|2|1|0",
        "a,b\\n1,2\\n1,2\\n1,\"a\\n2,b\\n3,c\\n|2|1|0",
        "a,b\\n1,2\\n1,2\\n1,\"a\\n2,b\\n3,\"c\"\\n4,d\\n|3|1|0",
        "a,b\\n1,5\" wide\\n2,6\" wide\\n|2|0|0",
        "a,b\\n1, \"x,\\ny\"\\n|1|0|0",
        "a,b\\n1,2\\n1,2\\n1,\\xff\\n|2|1|0",
    })
    void rowsAreWhatTheQuotesSay(String text, long rows, long malformed, long blank) throws IOException {
        assertEquals(held(rows, malformed, blank), held(write(bytes(text)), "bytes"));
    }

    @Test
    void aFilesOwnDelimiterIsOneByteAsWell() throws IOException {
        byte[] text = "sep=ł\na,b\n1,2\n".getBytes(StandardCharsets.UTF_8);

        assertRefused(write(text), "'sep=ł': the delimiter must be one ASCII character; write the file with another one");
    }

    @Test
    void aNulFarBehindTheBeginningMakesItsRowMalformed() throws IOException {
        String rows = "a,b\n" + "1,2\n".repeat(30_000);

        assertEquals(held(30_000, 1, 0), held(write(bytes(rows + "1,\\0\n")), "bytes"));
    }

    @Test
    void latin1BecomesUtf8() throws IOException {
        CsvFile latin1 = CsvFile.open(CASES.resolve("24_latin1.csv"), (byte) ',', "latin_1", MOST_BYTES);
        byte[] row = latin1.firstRow();

        assertEquals("0,Müller,0", new String(latin1.newEncoder().encode(row, 0, row.length), StandardCharsets.UTF_8));
    }

    private static String held(long rows, long malformed, long blank) {
        return rows + " rows, " + malformed + " malformed, " + blank + " blank";
    }

    private static String held(Path file, String encoding) throws IOException {
        ObjectNode found = new ObjectMapper().createObjectNode();
        IngestionCheck.ofFile(CsvFile.open(file, (byte) ',', encoding, MOST_BYTES), new int[0], found);
        return held(found.get("rows").asLong(), found.get("malformed").asLong(), found.get("blank_lines").asLong());
    }

    private static void assertRefused(Path file, String says) {
        Refused refused = assertThrows(Refused.class, () -> CsvFile.open(file, (byte) ',', "bytes", MOST_BYTES));

        assertTrue(refused.getMessage().startsWith(file + ": " + says), refused.getMessage());
    }

    private Path write(byte[] bytes) throws IOException {
        return Files.write(folder.resolve("rows.csv"), bytes);
    }

    /** Return the bytes of a text with escapes, because JUnit's cases are CSV, too. */
    private static byte[] bytes(String escaped) {
        String text = escaped.replace("\\n", "\n").replace("\\r", "\r").replace("\\t", "\t").replace("\\0", "\0")
                .replace("\\xff", "\u00FF").replace("\\xef\\xbb\\xbf", "\u00EF\u00BB\u00BF");
        return text.getBytes(StandardCharsets.ISO_8859_1);
    }
}
