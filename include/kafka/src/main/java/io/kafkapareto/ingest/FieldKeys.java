package io.kafkapareto.ingest;

import java.nio.charset.StandardCharsets;

/** Encode one column of a row as a record's key: the text of its field, in UTF-8. */
final class FieldKeys implements RowEncoder {
    private final int column;
    private final FieldState state;

    /** Take the keys from this column, counted from 0. */
    FieldKeys(int column, byte delimiter) {
        this.column = column;
        state = new FieldState(delimiter);
    }

    @Override
    public byte[] encode(byte[] array, int from, int to) {
        state.reset();
        int number = 0;
        int begin = from;
        for (int at = from; at < to; at++) {
            if (state.separates(array[at])) {
                if (number == column) {
                    return keyOf(array, begin, at);
                }
                number++;
                begin = at + 1;
            }
        }
        return number == column ? keyOf(array, begin, to) : null;
    }

    private static byte[] keyOf(byte[] array, int from, int to) {
        return Fields.text(array, from, to).getBytes(StandardCharsets.UTF_8);
    }
}
