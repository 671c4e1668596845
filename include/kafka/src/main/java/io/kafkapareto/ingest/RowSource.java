package io.kafkapareto.ingest;

import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;

/**
 * The rows of a range of a file, in order, without their ends (a line feed, or CR and LF).
 *
 * <p>A row is a line, and all that follow while a quote is open. Whoever takes it passes over blank lines.
 */
interface RowSource extends Closeable {
    /** A quote that is still open after so many bytes was most likely meant otherwise: the row ends with that line. */
    int MOST_QUOTED_BYTES = 1 << 20;

    /** Go to the next row; false where there is none. */
    boolean next() throws IOException;

    /** Return the array that holds the row. It is not to be changed. The scanner's holds another row after {@link #next}. */
    byte[] array();

    /** Return where in the array the row begins. */
    int from();

    /** Return where in the array the row ends. */
    int to();

    /** Return whether the line is blank, and so no row. */
    default boolean isBlank() {
        return from() == to();
    }

    /** Return the row's bytes in an array of their own. */
    default byte[] copy() {
        return from() == 0 && to() == array().length ? array() : Arrays.copyOfRange(array(), from(), to());
    }

    /** Return where in the file the row begins, in bytes. */
    long offset();

    /** Return the number of its first line within the range, from 0. */
    long line();
}
