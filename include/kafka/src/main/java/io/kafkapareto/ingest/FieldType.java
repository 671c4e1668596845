package io.kafkapareto.ingest;

import java.util.regex.Pattern;

/** The type of a column, taken from the file's first row. */
enum FieldType {
    WHOLE, DECIMAL, TEXT;

    private static final Pattern WHOLE_NUMBER = Pattern.compile("-?(0|[1-9][0-9]{0,17})");
    private static final Pattern DECIMAL_NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)\\.[0-9]+");

    /** Return the type of this text; a number with a leading zero or a plus sign is text, like an empty field. */
    static FieldType of(String text) {
        return isWhole(text) ? WHOLE : DECIMAL_NUMBER.matcher(text).matches() ? DECIMAL : TEXT;
    }

    private static boolean isWhole(String text) {
        return WHOLE_NUMBER.matcher(text).matches();
    }

    /** Return whether this text is a value of this type; a whole number is a decimal one, too. */
    boolean fits(String text) {
        return switch (this) {
            case WHOLE -> isWhole(text);
            case DECIMAL -> isWhole(text) || DECIMAL_NUMBER.matcher(text).matches();
            case TEXT -> true;
        };
    }
}
