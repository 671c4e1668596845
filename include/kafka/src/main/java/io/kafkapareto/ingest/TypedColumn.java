package io.kafkapareto.ingest;

import java.util.List;
import java.util.stream.Collectors;

/**
 * A column of the file as a field of a JSON object or an Avro record.
 *
 * @param index the column's index
 * @param name the field's name
 */
record TypedColumn(int index, String name, FieldType type, WhenEmpty whenEmpty) {
    /** How an empty field is encoded. */
    enum WhenEmpty { NULL, EMPTY_TEXT, LEFT_OUT, MALFORMED }

    /** Return whether each column has a value of its type in the row. */
    static boolean matchTypes(List<TypedColumn> columns, List<String> row) {
        for (TypedColumn each : columns) {
            if (each.index >= row.size() || !each.matches(row.get(each.index))) {
                return false;
            }
        }
        return true;
    }

    private boolean matches(String text) {
        return text.isEmpty() ? whenEmpty != WhenEmpty.MALFORMED : type.fits(text);
    }

    /**
     * Return the index of a schema's field among the columns.
     *
     * @throws Refused if there is no such column
     */
    static int indexOf(String field, List<String> columns) throws Refused {
        int index = columns.indexOf(field);
        if (index < 0) {
            throw new Refused("the schema's field '" + field + "' is not a column of the file; its columns: "
                    + quoted(columns));
        }
        return index;
    }

    /** Return names in quotes, separated by commas. */
    static String quoted(List<String> names) {
        return names.stream().map(each -> "'" + each + "'").collect(Collectors.joining(", "));
    }

    /**
     * Require a field for each column, so none is lost.
     *
     * @throws Refused naming a column without a field
     */
    static void requireAll(List<String> columns, List<TypedColumn> found) throws Refused {
        for (int index = 0; index < columns.size(); index++) {
            int wanted = index;
            if (found.stream().noneMatch(each -> each.index == wanted)) {
                throw new Refused("the schema has no field for the column '" + columns.get(index) + "'");
            }
        }
    }
}
