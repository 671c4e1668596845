package io.kafkapareto.ingest;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;

/** Check each row's quotes, size, number of fields and encoding. For one thread. */
final class RowCheck {
    private static final long QUOTES = Words.repeated((byte) '"');

    private final CharsetDecoder utf8 = StandardCharsets.UTF_8.newDecoder();
    private final FieldState state;
    private final byte delimiter;
    private final long delimiters;
    private final int fields;
    private final int mostBytes;
    private final boolean isUtf8;
    private CharBuffer decoded = CharBuffer.allocate(1_024);

    /** Rows have this many {@code fields} and at most {@code mostBytes}; bytes other than UTF-8 can be allowed. */
    RowCheck(byte delimiter, int fields, int mostBytes, boolean isUtf8) {
        this.state = new FieldState(delimiter);
        this.delimiter = delimiter;
        this.delimiters = Words.repeated(delimiter);
        this.fields = fields;
        this.mostBytes = mostBytes;
        this.isUtf8 = isUtf8;
    }

    /** Return the fault of the row in these bytes, or null. */
    Fault faultOf(byte[] array, int from, int to) {
        int found = 1;
        boolean hasQuotes = false;
        long high = 0;
        long zeros = 0;
        int at = from;
        for (; at + Words.BYTES <= to; at += Words.BYTES) {
            long word = Words.at(array, at);
            high |= word;
            zeros |= Words.zeros(word);
            hasQuotes |= Words.equal(word, QUOTES) != 0;
            found += Long.bitCount(Words.equal(word, delimiters));
        }
        for (; at < to; at++) {
            high |= array[at];
            zeros |= array[at] == 0 ? Words.HIGH_BITS : 0;
            hasQuotes |= array[at] == '"';
            found += array[at] == delimiter ? 1 : 0;
        }
        if (hasQuotes) {
            found = 1;
            state.reset();
            for (int each = from; each < to; each++) {
                found += state.separates(array[each]) ? 1 : 0;
            }
            if (state.isOpen() || state.isBroken()) {
                return Fault.QUOTE;
            }
        }
        if (to - from > mostBytes) {
            return Fault.TOO_LARGE;
        }
        if ((zeros & Words.HIGH_BITS) != 0) {
            return Fault.NUL;
        }
        if (found != fields) {
            return Fault.FIELDS;
        }
        return !isUtf8 || (high & Words.HIGH_BITS) == 0 || isValid(array, from, to) ? null : Fault.UTF8;
    }

    private boolean isValid(byte[] array, int from, int to) {
        if (decoded.capacity() < to - from) {
            decoded = CharBuffer.allocate(2 * (to - from));
        }
        decoded.clear();
        utf8.reset();
        return utf8.decode(ByteBuffer.wrap(array, from, to - from), decoded, true).isUnderflow();
    }
}
