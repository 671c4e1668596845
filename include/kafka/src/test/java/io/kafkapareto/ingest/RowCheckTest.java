package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A row has the header's fields, closed quotes, UTF-8 and a size that fits; any other line is malformed. */
class RowCheckTest {
    private static final int MOST_BYTES = 50;

    private final RowCheck check = new RowCheck((byte) ',', 3, MOST_BYTES);

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "a,b,c", ",,", "1,two words and a long third field,3", "\"a,b\",c,d", "\"say \"\"hi\"\", you\",b,c",
        "été,straße,日本", "a,😀,c", "\"\",\"\",\"\"",
    })
    void rowsWithTheHeadersFieldsAreFine(String row) {
        assertNull(faultOf(row));
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "a,b|FIELDS", "a,b,c,d|FIELDS", "``|FIELDS", "\"a,b,c\"|FIELDS", "a,\"b,c|QUOTE", "a,b,\"c\"\"|QUOTE",
        "0123456789012345678901234567890123456789012345678901234567,,|TOO_LARGE",
    })
    void othersAreMalformedForAReason(String row, Fault fault) {
        assertEquals(fault, faultOf(row == null ? "" : row));
    }

    @Test
    void bytesThatAreNoUtf8AreMalformedWhereverTheyStand() {
        byte[][] broken = {{(byte) 0xC3}, {(byte) 0x80}, {(byte) 0xC0, (byte) 0xAF}, {(byte) 0xED, (byte) 0xA0, (byte) 0x80}};
        for (byte[] each : broken) {
            for (int before = 0; before < 12; before++) {
                byte[] row = (",".repeat(2) + "x".repeat(before + each.length)).getBytes(StandardCharsets.ISO_8859_1);
                System.arraycopy(each, 0, row, 2 + before, each.length);
                assertEquals(Fault.UTF8, check.faultOf(row, 0, row.length));
            }
        }
    }

    @Test
    void anyRowIsJudgedAsByteByByte() {
        Random random = new Random(1);
        String letters = ",,\"ab é";
        for (int each = 0; each < 20_000; each++) {
            StringBuilder text = new StringBuilder();
            for (int left = random.nextInt(24); left > 0; left--) {
                text.append(letters.charAt(random.nextInt(letters.length())));
            }
            byte[] row = ("?" + text + "?").getBytes(StandardCharsets.UTF_8);
            assertEquals(plain(text.toString()), check.faultOf(row, 1, row.length - 1), text.toString());
        }
    }

    private static Fault plain(String text) {
        int fields = 1;
        boolean quoted = false;
        for (char each : text.toCharArray()) {
            quoted ^= each == '"';
            fields += each == ',' && !quoted ? 1 : 0;
        }
        return quoted ? Fault.QUOTE : fields == 3 ? null : Fault.FIELDS;
    }

    private Fault faultOf(String text) {
        byte[] row = text.getBytes(StandardCharsets.UTF_8);
        return check.faultOf(row, 0, row.length);
    }
}
