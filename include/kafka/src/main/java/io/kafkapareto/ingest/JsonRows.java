package io.kafkapareto.ingest;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.JsonGenerator;
import com.fasterxml.jackson.core.io.SerializedString;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.stream.IntStream;

/**
 * Encode rows as JSON objects, with the header's texts as names.
 *
 * <p>The file's first row determines each field's type: a whole or a decimal number, both as written, or text. An empty
 * field is null.
 */
final class JsonRows implements RowEncoder {
    private static final JsonFactory JSON = new JsonFactory();

    private final byte delimiter;
    private final List<SerializedString> names;
    private final List<FieldType> types;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);

    JsonRows(byte[] header, byte[] firstRow, byte delimiter) {
        this.delimiter = delimiter;
        names = namesOf(Fields.of(header, 0, header.length, delimiter));
        List<String> first = Fields.of(firstRow, 0, firstRow.length, delimiter);
        types = IntStream.range(0, names.size())
                .mapToObj(number -> FieldType.of(number < first.size() ? first.get(number) : "")).toList();
    }

    /** Return unique names: an empty one becomes {@code column_N}, and a repeated one gets its number. */
    private static List<SerializedString> namesOf(List<String> header) {
        Set<String> taken = new HashSet<>();
        List<SerializedString> found = new ArrayList<>();
        for (int number = 1; number <= header.size(); number++) {
            String name = header.get(number - 1).strip();
            name = name.isEmpty() ? "column_" + number : name;
            while (!taken.add(name)) {
                name += "_" + number;
            }
            found.add(new SerializedString(name));
        }
        return found;
    }

    @Override
    public byte[] encode(byte[] array, int from, int to) {
        List<String> values = Fields.of(array, from, to, delimiter);
        for (int number = 0; number < types.size(); number++) {
            String value = values.get(number);
            if (!value.isEmpty() && !types.get(number).fits(value)) {
                return null;
            }
        }
        bytes.reset();
        try (JsonGenerator json = JSON.createGenerator(bytes)) {
            json.writeStartObject();
            for (int number = 0; number < names.size(); number++) {
                json.writeFieldName(names.get(number));
                write(json, values.get(number), types.get(number));
            }
            json.writeEndObject();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return bytes.toByteArray();
    }

    private static void write(JsonGenerator json, String text, FieldType type) throws IOException {
        if (text.isEmpty()) {
            json.writeNull();
        } else if (type == FieldType.TEXT) {
            json.writeString(text);
        } else {
            json.writeNumber(text);
        }
    }
}
