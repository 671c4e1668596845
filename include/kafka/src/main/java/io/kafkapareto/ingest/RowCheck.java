package io.kafkapareto.ingest;

import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharsetDecoder;
import java.nio.charset.StandardCharsets;

/**
 * Checks one row after the other: its number of fields, its quotes, its encoding and its size. For one thread.
 *
 * <p>A row is one line. A quote begins or ends a quoted part, in which delimiters do not count; a doubled quote does both.
 */
final class RowCheck {
    private static final byte QUOTE = '"';
    private static final long QUOTES = Words.repeated(QUOTE);

    private final CharsetDecoder utf8 = StandardCharsets.UTF_8.newDecoder();
    private final byte delimiter;
    private final long delimiters;
    private final int fields;
    private final int mostBytes;
    private CharBuffer decoded = CharBuffer.allocate(1_024);

    /** Rows have so many {@code fields}, and {@code mostBytes} at most. */
    RowCheck(byte delimiter, int fields, int mostBytes) {
        this.delimiter = delimiter;
        this.delimiters = Words.repeated(delimiter);
        this.fields = fields;
        this.mostBytes = mostBytes;
    }

    /** Returns what is wrong with the row in these bytes, or null. */
    Fault faultOf(byte[] array, int from, int to) {
        if (to - from > mostBytes) {
            return Fault.TOO_LARGE;
        }
        int found = 1;
        boolean quoted = false;
        long high = 0;
        int at = from;
        for (; at + Words.BYTES <= to; at += Words.BYTES) {
            long word = Words.at(array, at);
            high |= word;
            if (!quoted && Words.equal(word, QUOTES) == 0) {
                found += Long.bitCount(Words.equal(word, delimiters));
                continue;
            }
            for (int each = at; each < at + Words.BYTES; each++) {
                quoted ^= array[each] == QUOTE;
                found += !quoted && array[each] == delimiter ? 1 : 0;
            }
        }
        for (; at < to; at++) {
            high |= array[at];
            quoted ^= array[at] == QUOTE;
            found += !quoted && array[at] == delimiter ? 1 : 0;
        }
        if (quoted) {
            return Fault.QUOTE;
        }
        if (found != fields) {
            return Fault.FIELDS;
        }
        return (high & Words.HIGH_BITS) == 0 || isUtf8(array, from, to) ? null : Fault.UTF8;
    }

    private boolean isUtf8(byte[] array, int from, int to) {
        if (decoded.capacity() < to - from) {
            decoded = CharBuffer.allocate(2 * (to - from));
        }
        decoded.clear();
        utf8.reset();
        return utf8.decode(ByteBuffer.wrap(array, from, to - from), decoded, true).isUnderflow();
    }
}
