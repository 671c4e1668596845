package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;

import java.nio.charset.StandardCharsets;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Tests that a row needs the header's number of fields, closed quotes, UTF-8 without NUL, and a size that fits. */
class RowCheckTest {
    private static final int MOST_BYTES = 50;

    private final RowCheck check = new RowCheck((byte) ',', 3, MOST_BYTES, true);

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "a,b,c", ",,", "1,two words and a long third field,3", "\"a,b\",c,d", "\"say \"\"hi\"\", you\",b,c",
        "été,straße,日本", "a,😀,c", "\"\",\"\",\"\"", "5\" wide,b,c", "a, \"b,c\",d", "\"say \\\"hi\\\", you\",b,c",
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
    void aQuotedFieldMayHoldLineBreaksAndEndsWithItsQuote() {
        assertNull(faultOf("a,\"b\nc,d\r\n\ne\",f"));
        assertNull(faultOf("a,\"b\n\"\"c\"\"\" ,d"));
        assertEquals(Fault.QUOTE, faultOf("a,\"b\nc\"d,e"));
        assertEquals(Fault.QUOTE, faultOf("a,\"b\nc\"d\",e"));
    }

    @Test
    void aNulIsMalformedWhereverItStands() {
        for (int before = 0; before < 12; before++) {
            assertEquals(Fault.NUL, faultOf("x".repeat(before) + "\0,,"));
            assertEquals(Fault.NUL, faultOf(",,\0" + "x".repeat(before)));
        }
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
        boolean open = false;
        String field = "";
        for (char each : text.toCharArray()) {
            if (each == '"' && (quoted || field.isBlank())) {
                quoted = true;
                open = !open;
            } else if (each == ',' && !open) {
                fields++;
                quoted = false;
                field = "";
                continue;
            }
            field += each;
        }
        return open ? Fault.QUOTE : fields == 3 ? null : Fault.FIELDS;
    }

    private Fault faultOf(String text) {
        byte[] row = text.getBytes(StandardCharsets.UTF_8);
        return check.faultOf(row, 0, row.length);
    }
}
