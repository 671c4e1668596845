package io.kafkapareto.ingest;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;

/**
 * Encode rows as Avro records: whole numbers as long, decimal numbers as double, all else as text.
 *
 * <p>The file's first row determines each field's type. An empty field is null.
 */
final class AvroRows implements RowEncoder {
    private static final String WHOLE = "[+-]?[0-9]{1,18}";
    private static final String DECIMAL = "[+-]?[0-9]+\\.[0-9]+";

    private final byte delimiter;
    private final Schema schema;
    private final Schema.Type[] types;
    private final GenericDatumWriter<GenericData.Record> writer;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
    private BinaryEncoder encoder;

    AvroRows(Schema schema, byte delimiter) {
        this.delimiter = delimiter;
        this.schema = schema;
        writer = new GenericDatumWriter<>(schema);
        types = schema.getFields().stream()
                .map(each -> each.schema().getTypes().get(1).getType()).toArray(Schema.Type[]::new);
    }

    /** Return the schema of a file with this header and this first row. */
    static Schema schemaOf(byte[] header, byte[] firstRow, byte delimiter) {
        List<String> names = Fields.of(header, 0, header.length, delimiter);
        List<String> values = Fields.of(firstRow, 0, firstRow.length, delimiter);
        Set<String> taken = new HashSet<>();
        var fields = SchemaBuilder.record("row").namespace("io.kafkapareto").fields();
        for (int number = 0; number < names.size(); number++) {
            String value = number < values.size() ? values.get(number) : "";
            Schema.Type type = value.matches(WHOLE) ? Schema.Type.LONG
                    : value.matches(DECIMAL) ? Schema.Type.DOUBLE : Schema.Type.STRING;
            Schema nullable = Schema.createUnion(Schema.create(Schema.Type.NULL), Schema.create(type));
            fields = fields.name(nameOf(names.get(number), number, taken)).type(nullable).noDefault();
        }
        return fields.endRecord();
    }

    /** Return a unique name that is valid in Avro. */
    private static String nameOf(String header, int number, Set<String> taken) {
        String plain = header.strip().replaceAll("[^A-Za-z0-9_]", "_");
        String name = (plain.matches("[A-Za-z_].*") ? plain : "_" + plain) + (header.isBlank() ? number : "");
        while (!taken.add(name)) {
            name += "_" + number;
        }
        return name;
    }

    @Override
    public byte[] encode(byte[] array, int from, int to) {
        List<String> values = Fields.of(array, from, to, delimiter);
        var row = new GenericData.Record(schema);
        try {
            for (int number = 0; number < types.length; number++) {
                row.put(number, valueOf(values.get(number), types[number]));
            }
        } catch (NumberFormatException error) {
            return null;
        }
        try {
            bytes.reset();
            encoder = EncoderFactory.get().binaryEncoder(bytes, encoder);
            writer.write(row, encoder);
            encoder.flush();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return bytes.toByteArray();
    }

    private static Object valueOf(String text, Schema.Type type) {
        if (text.isEmpty()) {
            return null;
        }
        return switch (type) {
            case LONG -> Long.valueOf(text);
            case DOUBLE -> Double.valueOf(text);
            default -> text;
        };
    }
}
