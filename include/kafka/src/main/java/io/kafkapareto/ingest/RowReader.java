package io.kafkapareto.ingest;

import java.io.IOException;

/** The ways of reading rows. */
enum RowReader {
    /** A String for each field. */
    SUBSTRING((range, delimiter) -> new TextRows(range, true, delimiter)),
    /** A String for each row. */
    LINE((range, delimiter) -> new TextRows(range, false, delimiter)),
    /** The bytes of each row, from {@code read()}. */
    SLICES((range, delimiter) -> new LineScanner(new StreamedBytes(range), range.from(), delimiter)),
    /** The bytes of each row, from the memory-mapped file. */
    MAPPED((range, delimiter) -> new LineScanner(new MappedBytes(range), range.from(), delimiter));

    private interface Opening {
        RowSource open(FileRange range, byte delimiter) throws IOException;
    }

    private final Opening opening;

    RowReader(Opening opening) {
        this.opening = opening;
    }

    RowSource open(FileRange range, byte delimiter) throws IOException {
        return opening.open(range, delimiter);
    }
}
