package io.kafkapareto.ingest;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.avro.Schema;

/**
 * A CSV file whose first row is its header.
 *
 * @param fields the number of fields in the header and each row
 * @param delimiter from the file's line {@code sep=}, else as requested
 * @param encoding how rows become values: {@code bytes} unchanged, {@code latin_1} as UTF-8, {@code avro} or {@code json}
 * @param mostRowBytes the size of the largest row that fits a request
 * @param rows the range after the header
 * @param encoders makes encoders of rows; null if rows are sent unchanged
 */
record CsvFile(
        byte[] header, byte[] firstRow, int fields, byte delimiter, String encoding, int mostRowBytes, FileRange rows,
        Supplier<RowEncoder> encoders) {
    private static final String LATIN_1 = "latin_1";
    private static final String OTHER_DELIMITERS = ",;\t|";
    private static final Pattern SEPARATOR_LINE = Pattern.compile("\"?(?i:sep)=(\t|[\\x20-\\x7e&&[^\"]])\"?");
    private static final Pattern OTHER_SEPARATOR_LINE = Pattern.compile("\"?(?i:sep)=[\\x80-\\xff]+\"?");
    private static final int PROBED_ROWS = 100;
    private static final int SHOWN_BYTES = 80;

    /**
     * Open the file and check its first rows.
     *
     * @throws Refused if it is not such a file, has no rows, or most of its first rows do not match the header
     */
    static CsvFile open(Path file, byte delimiter, String encoding, int mostRowBytes) throws IOException {
        if (!Files.exists(file)) {
            throw new Refused(file + ": file not found");
        }
        if (!Files.isRegularFile(file)) {
            throw new Refused(file + ": not a file");
        }
        if (!Files.isReadable(file)) {
            throw new Refused(file + ": this user may not read it");
        }
        FileRange text = FileForm.textOf(file);
        try (LineScanner lines = scanner(text, delimiter)) {
            if (!nextRow(lines)) {
                throw new Refused(file + ": is empty");
            }
            String first = new String(lines.copy(), StandardCharsets.ISO_8859_1);
            if (OTHER_SEPARATOR_LINE.matcher(first).matches()) {
                throw new Refused(file + ": " + shown(lines.array(), lines.from(), lines.to())
                        + ": the delimiter must be one ASCII character; write the file with another one");
            }
            Matcher separator = SEPARATOR_LINE.matcher(first);
            if (!separator.matches()) {
                return open(text, delimiter, encoding, mostRowBytes);
            }
            FileRange behind = text.startingAt(lines.next() ? lines.offset() : text.to());
            return open(behind, (byte) separator.group(1).charAt(0), encoding, mostRowBytes);
        }
    }

    private static CsvFile open(FileRange text, byte delimiter, String encoding, int mostRowBytes) throws IOException {
        try (LineScanner lines = scanner(text, delimiter)) {
            byte[] header = nextRow(lines) ? lines.copy() : new byte[0];
            int fields = Fields.of(header, 0, header.length, delimiter).size();
            CsvFile found = new CsvFile(header, null, fields, delimiter, encoding, mostRowBytes, text, null);
            long linesBefore = text.linesBefore();
            long headerLine = linesBefore + lines.line() + 1;
            found.requireHeader(headerLine);
            FileRange rows = text.startingAt(lines.next() ? lines.offset() : text.to());
            if (rows.bytes() == 0 || lines.isBlank() && !nextRow(lines)) {
                throw new Refused(text.file() + ": has a header but no rows");
            }
            found = new CsvFile(header, lines.copy(), fields, delimiter, encoding, mostRowBytes, rows, null)
                    .withSchema("", -1);
            found.probe(lines, linesBefore, headerLine);
            return found;
        }
    }

    private static LineScanner scanner(FileRange range, byte delimiter) throws IOException {
        return new LineScanner(new StreamedBytes(range), range.from(), delimiter);
    }

    /** Go to the next row that is not blank. */
    private static boolean nextRow(RowSource rows) throws IOException {
        boolean found = rows.next();
        while (found && rows.isBlank()) {
            found = rows.next();
        }
        return found;
    }

    private void requireHeader(long line) throws Refused {
        Fault fault = newCheck().faultOf(header, 0, header.length);
        if (fault != null) {
            throw new Refused(place(line) + "the header: " + fault.reason() + ": " + shown(header, 0, header.length)
                    + advice(fault));
        }
        for (byte other : OTHER_DELIMITERS.getBytes(StandardCharsets.US_ASCII)) {
            int ofOther = Fields.of(header, 0, header.length, other).size();
            if (fields == 1 && ofOther > 1) {
                throw new Refused(place(line) + "has one field with the delimiter " + shown(delimiter) + ", but "
                        + ofOther + " with " + shown(other) + ": " + shown(header, 0, header.length));
            }
        }
    }

    private void probe(LineScanner lines, long linesBefore, long headerLine) throws IOException {
        RowCheck check = newCheck();
        int probed = 0;
        int malformed = 0;
        String first = "";
        do {
            Fault fault = check.faultOf(lines.array(), lines.from(), lines.to());
            probed++;
            if (fault != null) {
                malformed++;
                first = first.isEmpty() ? place(linesBefore + lines.line() + 1) + fault.reason() + ": "
                        + shown(lines.array(), lines.from(), lines.to()) + advice(fault) : first;
            }
        } while (probed < PROBED_ROWS && nextRow(lines));
        if (2 * malformed <= probed) {
            return;
        }
        if (header[0] == '#') {
            throw new Refused(place(headerLine) + "looks like a comment, expected the header: "
                    + shown(header, 0, header.length) + "; remove such lines: sed '/^#/d' " + FileForm.quoted(rows.file())
                    + " > new.csv");
        }
        throw new Refused(first + " (" + malformed + " of the first " + probed
                + " rows are malformed; check delimiter and encoding)");
    }

    private String place(long line) {
        return rows.file() + ": line " + line + ": ";
    }

    private String advice(Fault fault) {
        return fault != Fault.UTF8 ? "" : "; give its encoding: ENCODING=cp1252 (Windows) or latin-1 (ISO 8859-1)";
    }

    private static String shown(byte delimiter) {
        return delimiter == '\t' ? "tab" : "'" + (char) delimiter + "'";
    }

    /** Return the beginning of a row in readable form. */
    static String shown(byte[] array, int from, int to) {
        int length = Math.min(to - from, SHOWN_BYTES);
        String text = new String(array, from, length, StandardCharsets.UTF_8).replaceAll("\\p{Cntrl}", "?");
        return "'" + text + (length < to - from ? "…'" : "'");
    }

    /** Return a check of this file's rows, for one thread. */
    RowCheck newCheck() {
        return new RowCheck(delimiter, fields, mostRowBytes, !encoding.equals(LATIN_1));
    }

    /**
     * Return the columns with these names, counted from 0.
     *
     * @param names separated by commas, quoted as in a CSV file; empty for no column
     * @throws Refused naming a column that the header lacks or repeats
     */
    int[] columnsOf(String names) throws Refused {
        byte[] bytes = names.getBytes(StandardCharsets.UTF_8);
        List<String> wanted = names.isEmpty() ? List.of() : Fields.of(bytes, 0, bytes.length, (byte) ',');
        int[] columns = new int[wanted.size()];
        for (int number = 0; number < columns.length; number++) {
            columns[number] = columnOf(wanted.get(number).strip());
        }
        if (Arrays.stream(columns).distinct().count() < columns.length) {
            throw new Refused("the key's columns " + names + ": one is named twice");
        }
        return columns;
    }

    private int columnOf(String name) throws Refused {
        List<String> names = names().stream().map(String::strip).toList();
        int column = names.indexOf(name);
        if (column < 0) {
            throw new Refused(rows.file() + ": has no column '" + name + "' for the key; its columns: "
                    + TypedColumn.quoted(names));
        }
        if (column != names.lastIndexOf(name)) {
            throw new Refused(rows.file() + ": has two columns '" + name + "'; the key needs a unique name");
        }
        return column;
    }

    /** Return the encoder of keys, for one thread: a column's text, or a JSON object of several texts; null for none. */
    RowEncoder newKeyEncoder(int[] columns) {
        return switch (columns.length) {
            case 0 -> null;
            case 1 -> new FieldKeys(columns[0], delimiter);
            default -> {
                List<TypedColumn> texts = JsonRows.inferredColumns(names(), List.of());
                yield new JsonRows(Arrays.stream(columns).mapToObj(texts::get).toList(), delimiter);
            }
        };
    }

    /** Return the encoder of rows, for one thread; null if rows are sent unchanged. */
    RowEncoder newEncoder() {
        return encoders == null ? null : encoders.get();
    }

    /**
     * Return the file with a schema of its values.
     *
     * @param schema an Avro or a JSON schema; empty for types from the first row
     * @param schemaId an Avro schema's ID in a registry, which precedes each value; -1 for none
     * @throws Refused if values have no schema, or this one does not fit the file
     */
    CsvFile withSchema(String schema, int schemaId) throws Refused {
        Supplier<RowEncoder> found = switch (encoding) {
            case "json" -> {
                List<TypedColumn> columns = schema.isEmpty() ? JsonRows.inferredColumns(names(), firstValues())
                        : JsonRows.columnsOf(schema, names());
                yield () -> new JsonRows(columns, delimiter);
            }
            case "avro" -> {
                Schema avro = avroSchema(schema);
                List<TypedColumn> columns = AvroRows.columnsOf(avro, names());
                yield () -> new AvroRows(avro, columns, delimiter, schemaId);
            }
            case LATIN_1 -> () -> (array, from, to) ->
                    new String(array, from, to - from, StandardCharsets.ISO_8859_1).getBytes(StandardCharsets.UTF_8);
            default -> null;
        };
        if (!schema.isEmpty() && !encoding.equals("json") && !encoding.equals("avro")) {
            throw new Refused("a schema needs values in Avro or JSON");
        }
        return new CsvFile(header, firstRow, fields, delimiter, encoding, mostRowBytes, rows, found);
    }

    /**
     * Return this Avro schema, or that of the first row if it is empty.
     *
     * @throws Refused if it is not a schema of records
     */
    Schema avroSchema(String schema) throws Refused {
        return schema.isEmpty() ? AvroRows.schemaOf(names(), firstValues()) : AvroRows.parsed(schema);
    }

    private List<String> names() {
        return Fields.of(header, 0, header.length, delimiter);
    }

    private List<String> firstValues() {
        return Fields.of(firstRow, 0, firstRow.length, delimiter);
    }
}
