package io.kafkapareto.ingest;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.JsonProcessingException;
import com.fasterxml.jackson.core.io.SerializedString;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** Encode rows, or some of their columns, as JSON objects; numbers stay as written. */
final class JsonRows implements RowEncoder {
    private static final JsonFactory JSON = new JsonFactory();
    private static final Map<String, FieldType> TYPES = Map.of(
            "string", FieldType.TEXT, "integer", FieldType.WHOLE, "number", FieldType.DECIMAL,
            "boolean", FieldType.BOOLEAN);

    private final byte delimiter;
    private final List<TypedColumn> columns;
    private final List<SerializedString> names;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);

    JsonRows(List<TypedColumn> columns, byte delimiter) {
        this.delimiter = delimiter;
        this.columns = columns;
        names = columns.stream().map(each -> new SerializedString(each.name())).toList();
    }

    /**
     * Return all columns, with the header's texts as names and types from the first row: a whole or a decimal number,
     * or text. An empty field is null.
     */
    static List<TypedColumn> inferredColumns(List<String> header, List<String> firstRow) {
        List<String> names = namesOf(header);
        List<TypedColumn> found = new ArrayList<>();
        for (int index = 0; index < names.size(); index++) {
            FieldType type = FieldType.of(index < firstRow.size() ? firstRow.get(index) : "");
            found.add(new TypedColumn(index, names.get(index), type, TypedColumn.WhenEmpty.NULL));
        }
        return found;
    }

    /** Return unique names: an empty one becomes {@code column_N}, and a repeated one gets its number. */
    private static List<String> namesOf(List<String> header) {
        Set<String> taken = new HashSet<>();
        List<String> found = new ArrayList<>();
        for (int number = 1; number <= header.size(); number++) {
            String name = header.get(number - 1).strip();
            name = name.isEmpty() ? "column_" + number : name;
            while (!taken.add(name)) {
                name += "_" + number;
            }
            found.add(name);
        }
        return found;
    }

    /**
     * Return the columns with the types of a JSON schema's {@code properties}; no other keyword but {@code required} is
     * used.
     *
     * @throws Refused if it is not such a schema, a required property is not a column, or a property not a scalar, or a
     *     column has no property
     */
    static List<TypedColumn> columnsOf(String schema, List<String> header) throws Refused {
        List<String> names = namesOf(header);
        JsonNode parsed = parsed(schema);
        Set<String> required = new HashSet<>();
        parsed.path("required").forEach(each -> required.add(each.asText()));
        List<TypedColumn> found = new ArrayList<>();
        for (Map.Entry<String, JsonNode> each : parsed.path("properties").properties()) {
            if (names.contains(each.getKey()) || required.contains(each.getKey())) {
                found.add(columnOf(
                        each.getKey(), each.getValue().path("type"), TypedColumn.indexOf(each.getKey(), names),
                        required.contains(each.getKey())));
            }
        }
        TypedColumn.requireAll(names, found);
        return found;
    }

    private static JsonNode parsed(String schema) throws Refused {
        try {
            JsonNode parsed = new ObjectMapper().readTree(schema);
            if (!parsed.path("properties").isObject()) {
                throw new Refused("the JSON schema has no properties");
            }
            return parsed;
        } catch (JsonProcessingException error) {
            throw new Refused("not a JSON schema: " + error.getOriginalMessage());
        }
    }

    private static TypedColumn columnOf(String name, JsonNode stated, int index, boolean isRequired) throws Refused {
        Set<String> types = new HashSet<>();
        (stated.isArray() ? stated : List.of(stated)).forEach(each -> types.add(each.asText()));
        boolean isNullable = types.remove("null");
        FieldType type = types.size() == 1 ? TYPES.get(types.iterator().next()) : null;
        if (type == null) {
            throw new Refused("the schema's property '" + name + "': " + (stated.isMissingNode() ? "no type" : "type " + stated)
                    + ": expected string, integer, number or boolean, or one of them and null");
        }
        return new TypedColumn(index, name, type, isNullable ? TypedColumn.WhenEmpty.NULL
                : type == FieldType.TEXT ? TypedColumn.WhenEmpty.EMPTY_TEXT
                : isRequired ? TypedColumn.WhenEmpty.MALFORMED : TypedColumn.WhenEmpty.LEFT_OUT);
    }

    @Override
    public byte[] encode(byte[] array, int from, int to) {
        List<String> values = Fields.of(array, from, to, delimiter);
        if (!TypedColumn.matchTypes(columns, values)) {
            return null;
        }
        bytes.reset();
        try (JsonGenerator json = JSON.createGenerator(bytes)) {
            json.writeStartObject();
            for (int field = 0; field < names.size(); field++) {
                write(json, names.get(field), columns.get(field), values.get(columns.get(field).index()));
            }
            json.writeEndObject();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return bytes.toByteArray();
    }

    private static void write(JsonGenerator json, SerializedString name, TypedColumn column, String text)
            throws IOException {
        if (text.isEmpty() && column.whenEmpty() == TypedColumn.WhenEmpty.LEFT_OUT) {
            return;
        }
        json.writeFieldName(name);
        if (text.isEmpty() && column.whenEmpty() == TypedColumn.WhenEmpty.NULL) {
            json.writeNull();
            return;
        }
        switch (column.type()) {
            case WHOLE, DECIMAL -> json.writeNumber(text);
            case BOOLEAN -> json.writeBoolean(Boolean.parseBoolean(text));
            case TEXT -> json.writeString(text);
        }
    }
}
