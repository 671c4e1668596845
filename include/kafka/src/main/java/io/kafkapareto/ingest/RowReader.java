package io.kafkapareto.ingest;

import java.io.IOException;

/** Names the ways in which rows are read. */
enum RowReader {
    /** A String for each field. */
    SUBSTRING {
        @Override
        RowSource open(FileRange range, byte delimiter) throws IOException {
            return new TextRows(range, true, delimiter);
        }
    },
    /** A String for each row. */
    LINE {
        @Override
        RowSource open(FileRange range, byte delimiter) throws IOException {
            return new TextRows(range, false, delimiter);
        }
    },
    /** The bytes of each row, out of what {@code read()} returns. */
    SLICES {
        @Override
        RowSource open(FileRange range, byte delimiter) throws IOException {
            return new LineScanner(new StreamedBytes(range), range.from(), delimiter);
        }
    },
    /** The bytes of each row, out of the file as it is mapped into memory. */
    MAPPED {
        @Override
        RowSource open(FileRange range, byte delimiter) throws IOException {
            return new LineScanner(new MappedBytes(range), range.from(), delimiter);
        }
    };

    abstract RowSource open(FileRange range, byte delimiter) throws IOException;
}
