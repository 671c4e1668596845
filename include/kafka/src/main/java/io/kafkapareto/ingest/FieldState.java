package io.kafkapareto.ingest;

/**
 * Follow a row byte by byte, and say where its fields end (RFC 4180). For one thread.
 *
 * <p>A field is quoted if it begins with a quote, leading spaces aside. Within the quotes delimiters and line breaks are
 * text, and a doubled quote stands for one. In any other field a quote is a character like others: 5" is a size.
 *
 * <p>A quoted field over several lines ends with its closing quote. Text behind that means that a quote was missing
 * somewhere: the row is broken. It ends with the first line that leaves no quote open.
 */
final class FieldState {
    private static final byte QUOTE = '"';

    private final byte delimiter;
    private boolean begins;
    private boolean isQuoted;
    private boolean isOpen;
    private boolean hasLines;
    private boolean isBroken;

    FieldState(byte delimiter) {
        this.delimiter = delimiter;
        reset();
    }

    /** Begin with another row. */
    void reset() {
        begin();
        isOpen = false;
        isBroken = false;
    }

    private void begin() {
        begins = true;
        isQuoted = false;
        hasLines = false;
    }

    /** Take the next byte, and tell whether it separates two fields. */
    boolean separates(byte each) {
        if (each == QUOTE && (isQuoted || begins)) {
            isQuoted = true;
            isOpen = !isOpen;
            begins = false;
            return false;
        }
        if (isOpen) {
            hasLines |= each == '\n';
            return false;
        }
        if (each == delimiter) {
            begin();
            return true;
        }
        begins &= each == ' ';
        if (hasLines && each != ' ' && each != '\r') {
            isBroken = true;
            isQuoted = false;
        }
        return false;
    }

    /** Take several bytes. */
    void follow(byte[] array, int from, int to) {
        for (int at = from; at < to; at++) {
            separates(array[at]);
        }
    }

    /** Return whether a quote is open, so the row continues on the next line. */
    boolean isOpen() {
        return isOpen;
    }

    /** Return whether text came behind a quote that closed a field of several lines. */
    boolean isBroken() {
        return isBroken;
    }
}
