package io.kafkapareto.ingest;

/**
 * Parse a row byte by byte, and find the ends of its fields (RFC 4180). For one thread.
 *
 * <p>A field is quoted if it starts with a quote, ignoring leading spaces. Within the quotes delimiters and line breaks
 * are text, and a doubled quote is one quote. In other fields a quote is an ordinary character: 5" is a size.
 *
 * <p>A quoted field over several lines ends with its closing quote. Text after that indicates a missing quote: the row
 * is malformed. It ends with the first line without an open quote.
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

    /** Start another row. */
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

    /** Process the next byte, and return whether it separates two fields. */
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

    /** Process several bytes. */
    void follow(byte[] array, int from, int to) {
        for (int at = from; at < to; at++) {
            separates(array[at]);
        }
    }

    /** Return whether a quote is open, so the row continues on the next line. */
    boolean isOpen() {
        return isOpen;
    }

    /** Return whether text follows the closing quote of a multi-line field. */
    boolean isBroken() {
        return isBroken;
    }
}
