package io.kafkapareto.ingest;

import java.util.regex.Pattern;

/** The type of a column: from a schema, or from the file's first row. */
enum FieldType {
    WHOLE, DECIMAL, BOOLEAN, TEXT;

    private static final Pattern SAFE_WHOLE_NUMBER = Pattern.compile("-?(0|[1-9][0-9]{0,17})");
    private static final Pattern WHOLE_NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)");
    private static final Pattern DECIMAL_NUMBER = Pattern.compile("-?(0|[1-9][0-9]*)\\.[0-9]+");
    private static final Pattern ANY_NUMBER =
            Pattern.compile("-?(0|[1-9][0-9]*)(\\.[0-9]+)?([eE][+-]?[0-9]{1,3})?");

    /**
     * Return the type of this text. A number with a leading zero, a plus sign or more than 18 digits is text, like an
     * empty field.
     */
    static FieldType of(String text) {
        return SAFE_WHOLE_NUMBER.matcher(text).matches() ? WHOLE : DECIMAL_NUMBER.matcher(text).matches() ? DECIMAL : TEXT;
    }

    /** Return whether this text is a value of this type; a whole number is a decimal one, too. */
    boolean fits(String text) {
        return switch (this) {
            case WHOLE -> WHOLE_NUMBER.matcher(text).matches();
            case DECIMAL -> ANY_NUMBER.matcher(text).matches();
            case BOOLEAN -> text.equalsIgnoreCase("true") || text.equalsIgnoreCase("false");
            case TEXT -> true;
        };
    }
}
