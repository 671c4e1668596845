package io.kafkapareto.ingest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A CSV file whose first line is its header.
 *
 * @param fields how many fields each row has, as the header does
 * @param rows the range that holds all rows
 */
record CsvFile(byte[] header, byte[] firstRow, int fields, byte delimiter, FileRange rows) {
    private static final String OTHER_DELIMITERS = ",;\t|";
    private static final int PROBED_ROWS = 100;
    private static final int SHOWN_BYTES = 80;

    /**
     * Opens the file and looks at its first rows.
     *
     * @throws Refused if it is no such file, holds no row, or most of its first rows do not fit the header
     */
    static CsvFile open(Path file, byte delimiter, int mostRowBytes) throws IOException, Refused {
        if (!Files.exists(file)) {
            throw new Refused(file + ": there is no such file");
        }
        if (!Files.isRegularFile(file)) {
            throw new Refused(file + ": is no file");
        }
        if (!Files.isReadable(file)) {
            throw new Refused(file + ": cannot be read by this user");
        }
        FileRange whole = FileRange.whole(file);
        try (LineScanner lines = new LineScanner(new StreamedBytes(whole), 0)) {
            if (!lines.next()) {
                throw new Refused(file + ": is empty");
            }
            byte[] header = lines.copy();
            int fields = fieldsOf(header, delimiter, file);
            if (!lines.next()) {
                throw new Refused(file + ": holds a header and no row");
            }
            CsvFile found = new CsvFile(header, lines.copy(), fields, delimiter, whole.startingAt(lines.offset()));
            found.probe(lines, new RowCheck(delimiter, fields, mostRowBytes));
            return found;
        }
    }

    private static int fieldsOf(byte[] header, byte delimiter, Path file) throws Refused {
        int fields = Fields.of(header, 0, header.length, delimiter).size();
        for (byte other : OTHER_DELIMITERS.getBytes(StandardCharsets.US_ASCII)) {
            int ofOther = Fields.of(header, 0, header.length, other).size();
            if (fields == 1 && ofOther > 1) {
                throw new Refused(file + ": line 1 has one field by the delimiter " + shown(delimiter) + ", and "
                        + ofOther + " by " + shown(other) + ": " + shown(header, 0, header.length));
            }
        }
        return fields;
    }

    private void probe(LineScanner lines, RowCheck check) throws IOException, Refused {
        int probed = 0;
        int malformed = 0;
        String first = "";
        do {
            Fault fault = check.faultOf(lines.array(), lines.from(), lines.to());
            probed++;
            if (fault != null) {
                malformed++;
                first = first.isEmpty() ? rows.file() + ": line " + (lines.line() + 1) + ": " + fault.reason() + ": "
                        + shown(lines.array(), lines.from(), lines.to()) : first;
            }
        } while (probed < PROBED_ROWS && lines.next());
        if (2 * malformed > probed) {
            throw new Refused(first + " (and so " + malformed + " of the first " + probed
                    + " rows; do delimiter and encoding fit?)");
        }
    }

    private static String shown(byte delimiter) {
        return delimiter == '\t' ? "tab" : "'" + (char) delimiter + "'";
    }

    /** Returns the beginning of a row as people can read it. */
    static String shown(byte[] array, int from, int to) {
        int length = Math.min(to - from, SHOWN_BYTES);
        String text = new String(array, from, length, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", "?");
        return "'" + text + (length < to - from ? "…'" : "'");
    }

    RowEncoder encoder(boolean asAvro) {
        return asAvro ? new AvroRows(AvroRows.schemaOf(header, firstRow, delimiter), delimiter) : null;
    }
}
