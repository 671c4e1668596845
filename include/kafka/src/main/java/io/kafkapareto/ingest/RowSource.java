package io.kafkapareto.ingest;

import java.io.Closeable;
import java.io.IOException;
import java.util.Arrays;

/** Gives the lines of a range of a file, one after the other, without their ends (a line feed, or CR and LF). */
interface RowSource extends Closeable {
    /** Goes to the next line; false where there is none. */
    boolean next() throws IOException;

    /** Returns the array that holds the line. It is not to be changed. The scanner's holds another line after {@link #next}. */
    byte[] array();

    /** Returns where in the array the line begins. */
    int from();

    /** Returns where in the array the line ends. */
    int to();

    /** Returns the line's bytes in an array of their own. */
    default byte[] copy() {
        return from() == 0 && to() == array().length ? array() : Arrays.copyOfRange(array(), from(), to());
    }

    /** Returns where in the file the line begins, in bytes. */
    long offset();

    /** Returns the line's number within the range, from 0. */
    long line();
}
