package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Tests that all readers return the same rows and offsets for any file. */
@Timeout(60)
class RowReaderTest {
    private static final String NASTY = "\"a,\"\"b\"\"\",c\r\n\r\n,\nété,日本😀\na\rb,c\n\"unclosed,x\n" + "x".repeat(9_000)
            + ",y\nlast,without end";

    @TempDir
    private Path folder;

    private record Found(String text, long offset, long line) {}

    @ParameterizedTest
    @EnumSource(RowReader.class)
    void aFileOfNastyCasesIsReadRowByRow(RowReader reader) throws IOException {
        Path file = write(NASTY.getBytes(StandardCharsets.UTF_8));

        assertEquals(plain(NASTY.getBytes(StandardCharsets.UTF_8)), read(reader, FileRange.whole(file)));
    }

    @ParameterizedTest
    @EnumSource(RowReader.class)
    void aRowWhoseQuoteIsOpenAtTheEndHasNoLineEnd(RowReader reader) throws IOException {
        Path file = write("a,\"b\r\n".getBytes(StandardCharsets.US_ASCII));

        assertEquals(List.of(new Found("a,\"b", 0, 0)), read(reader, FileRange.whole(file)));
    }

    @ParameterizedTest
    @EnumSource(RowReader.class)
    void anyBytesAreReadAlike(RowReader reader) throws IOException {
        Random random = new Random(7);
        for (int each = 0; each < 100; each++) {
            byte[] bytes = anyBytes(random, "a,\"\"\r\n\n\0\u00C3\u00A9 ");

            assertEquals(plain(bytes), read(reader, FileRange.whole(write(bytes))));
        }
    }

    /** A file without line breaks in quotes may be split anywhere. */
    @ParameterizedTest
    @EnumSource(RowReader.class)
    void anyNumberOfRangesGivesTheSameRows(RowReader reader) throws IOException {
        Random random = new Random(8);
        for (int each = 0; each < 100; each++) {
            byte[] bytes = anyBytes(random, "a,\r\n\n\0\u00C3\u00A9");
            List<Found> found = new ArrayList<>();
            for (FileRange range : FileRange.whole(write(bytes)).split(1 + random.nextInt(4))) {
                long before = range.linesBefore();
                read(reader, range).forEach(row -> found.add(new Found(row.text(), row.offset(), before + row.line())));
            }
            assertEquals(plain(bytes), found);
        }
    }

    private static byte[] anyBytes(Random random, String letters) {
        byte[] bytes = new byte[random.nextInt(400)];
        for (int at = 0; at < bytes.length; at++) {
            bytes[at] = (byte) letters.charAt(random.nextInt(letters.length()));
        }
        return bytes;
    }

    @ParameterizedTest
    @EnumSource(RowReader.class)
    void aQuoteThatIsNeverClosedHoldsABoundedNumberOfLines(RowReader reader) throws IOException {
        String rows = "12345678901234\n".repeat(RowSource.MOST_QUOTED_BYTES / 15);
        Path file = write(("a,\"" + rows + rows + "b,c\n").getBytes(StandardCharsets.US_ASCII));

        List<Found> found = read(reader, FileRange.whole(file));

        assertTrue(found.get(0).text().length() - RowSource.MOST_QUOTED_BYTES < 20);
        assertEquals("12345678901234", found.get(1).text());
        assertEquals("b,c", found.get(found.size() - 1).text());
    }

    @Test
    void theScannerNeedsNoMoreRoomThanALine() throws IOException {
        byte[] bytes = NASTY.getBytes(StandardCharsets.UTF_8);
        Path file = write(bytes);
        for (int chunkBytes : new int[] {1, 2, 7, 64}) {
            for (long pieceBytes : new long[] {1, 5, 4_096}) {
                var source = new MappedBytes(FileRange.whole(file), pieceBytes);
                try (LineScanner rows = new LineScanner(source, 0, (byte) ',', chunkBytes)) {
                    assertEquals(plain(bytes), all(rows));
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(RowReader.class)
    void rowsBeyondTheFirstTwoGibibytesAreFound(RowReader reader) throws IOException {
        long border = 1L << 31;
        Path file = folder.resolve("sparse.csv");
        try (RandomAccessFile written = new RandomAccessFile(file.toFile(), "rw")) {
            written.seek(border - 9);
            written.write("\na,1\nbbb,22\nc,3\n".getBytes(StandardCharsets.US_ASCII));
        }
        FileRange range = new FileRange(file, border - 8, Files.size(file));

        assertEquals(
                List.of(new Found("a,1", border - 8, 0), new Found("bbb,22", border - 4, 1), new Found("c,3", border + 3, 2)),
                read(reader, range));
    }

    private static List<Found> read(RowReader reader, FileRange range) throws IOException {
        try (RowSource rows = reader.open(range, (byte) ',')) {
            return all(rows);
        }
    }

    private static List<Found> all(RowSource rows) throws IOException {
        List<Found> found = new ArrayList<>();
        while (rows.next()) {
            String text = new String(rows.array(), rows.from(), rows.to() - rows.from(), StandardCharsets.ISO_8859_1);
            found.add(new Found(text, rows.offset(), rows.line()));
        }
        return found;
    }

    /** Split the bytes at line feeds outside of quotes; a carriage return before one belongs to it. */
    private static List<Found> plain(byte[] bytes) {
        List<Found> found = new ArrayList<>();
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        FieldState state = new FieldState((byte) ',');
        int begin = 0;
        long line = 0;
        long firstLine = 0;
        for (int at = 0; at < text.length(); at++) {
            state.separates(bytes[at]);
            boolean ends = bytes[at] == '\n';
            line += ends ? 1 : 0;
            if (at + 1 == text.length() || ends && !state.isOpen()) {
                String row = text.substring(begin, ends ? at : at + 1);
                row = ends && row.endsWith("\r") ? row.substring(0, row.length() - 1) : row;
                found.add(new Found(row, begin, firstLine));
                state.reset();
                begin = at + 1;
                firstLine = line;
            }
        }
        return found;
    }

    private Path write(byte[] bytes) throws IOException {
        return Files.write(folder.resolve("rows.csv"), bytes);
    }
}
