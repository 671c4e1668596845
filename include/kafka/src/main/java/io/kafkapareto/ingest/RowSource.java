package io.kafkapareto.ingest;

import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;

/**
 * The rows of a range of a file, in order, without their ends (a line feed, or CR and LF).
 *
 * <p>A row is a line plus all following lines while a quote is open. The caller skips blank lines.
 */
interface RowSource extends Closeable {
    /** A quote still open after this many bytes is taken as an ordinary character: the row ends with that line. */
    int MOST_QUOTED_BYTES = 1 << 20;

    /** Move to the next row; false if there is none. */
    boolean next() throws IOException;

    /** Return the array that holds the row. Do not modify it. The scanner reuses it in {@link #next}. */
    byte[] array();

    /** Return the row's start in the array. */
    int from();

    /** Return the row's end in the array. */
    int to();

    /** Return whether the line is blank, so not a row. */
    default boolean isBlank() {
        return from() == to();
    }

    /** Return a copy of the row's bytes. */
    default byte[] copy() {
        return from() == 0 && to() == array().length ? array() : Arrays.copyOfRange(array(), from(), to());
    }

    /** Return the row's byte offset in the file. */
    long offset();

    /** Return the number of its first line within the range, from 0. */
    long line();
}
