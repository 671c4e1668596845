package io.kafkapareto.ingest;

import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;

/** Split a row into the texts of its fields, without enclosing quotes and with doubled quotes as one. */
final class Fields {
    private Fields() {}

    static List<String> of(byte[] row, int from, int to, byte delimiter) {
        List<String> found = new ArrayList<>();
        FieldState state = new FieldState(delimiter);
        int begin = from;
        for (int at = from; at < to; at++) {
            if (state.separates(row[at])) {
                found.add(text(row, begin, at));
                begin = at + 1;
            }
        }
        found.add(text(row, begin, to));
        return found;
    }

    /** Return the text of one field. */
    static String text(byte[] row, int from, int to) {
        if (to - from < 2 || row[from] != '"' || row[to - 1] != '"') {
            return new String(row, from, to - from, StandardCharsets.UTF_8);
        }
        return new String(row, from + 1, to - from - 2, StandardCharsets.UTF_8).replace("\"\"", "\"");
    }
}
