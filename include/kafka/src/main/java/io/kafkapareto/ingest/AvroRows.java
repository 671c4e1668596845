package io.kafkapareto.ingest;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.avro.AvroRuntimeException;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericDatumWriter;
import org.apache.avro.io.BinaryEncoder;
import org.apache.avro.io.EncoderFactory;

/** Encode rows as Avro records. */
final class AvroRows implements RowEncoder {
    /** Confluent's wire format: a magic byte of 0 and the schema ID precede the value. */
    private static final int PREFIX_BYTES = 1 + Integer.BYTES;
    private static final Map<Schema.Type, FieldType> TYPES = Map.of(
            Schema.Type.INT, FieldType.WHOLE, Schema.Type.LONG, FieldType.WHOLE, Schema.Type.FLOAT, FieldType.DECIMAL,
            Schema.Type.DOUBLE, FieldType.DECIMAL, Schema.Type.BOOLEAN, FieldType.BOOLEAN,
            Schema.Type.STRING, FieldType.TEXT);

    private final byte delimiter;
    private final Schema schema;
    private final List<TypedColumn> columns;
    private final Schema.Type[] types;
    private final byte[] prefix;
    private final GenericDatumWriter<GenericData.Record> writer;
    private final ByteArrayOutputStream bytes = new ByteArrayOutputStream(256);
    private BinaryEncoder encoder;

    /**
     * Encode rows with this schema.
     *
     * @param columns from {@link #columnsOf}, in the order of the schema's fields
     * @param schemaId the schema's ID in a registry; -1 for values without Confluent's wire format
     */
    AvroRows(Schema schema, List<TypedColumn> columns, byte delimiter, int schemaId) {
        this.delimiter = delimiter;
        this.schema = schema;
        this.columns = columns;
        writer = new GenericDatumWriter<>(schema);
        types = schema.getFields().stream().map(each -> valueType(each.schema())).toArray(Schema.Type[]::new);
        prefix = schemaId < 0 ? new byte[0]
                : ByteBuffer.allocate(PREFIX_BYTES).put((byte) 0).putInt(schemaId).array();
    }

    /**
     * Return the schema of a file with this header and this first row: its whole numbers are long, decimal numbers
     * double, all else is text. An empty field is null.
     */
    static Schema schemaOf(List<String> header, List<String> firstRow) {
        List<String> names = namesOf(header);
        var fields = SchemaBuilder.record("row").namespace("io.kafkapareto").fields();
        for (int number = 0; number < names.size(); number++) {
            Schema.Type type = switch (FieldType.of(number < firstRow.size() ? firstRow.get(number) : "")) {
                case WHOLE -> Schema.Type.LONG;
                case DECIMAL -> Schema.Type.DOUBLE;
                default -> Schema.Type.STRING;
            };
            Schema nullable = Schema.createUnion(Schema.create(Schema.Type.NULL), Schema.create(type));
            fields = fields.name(names.get(number)).type(nullable).withDefault(null);
        }
        return fields.endRecord();
    }

    /** Return unique names that are valid in Avro. */
    static List<String> namesOf(List<String> header) {
        Set<String> taken = new HashSet<>();
        List<String> found = new ArrayList<>();
        for (int number = 0; number < header.size(); number++) {
            String plain = header.get(number).strip().replaceAll("[^A-Za-z0-9_]", "_");
            String name = (plain.matches("[A-Za-z_].*") ? plain : "_" + plain)
                    + (header.get(number).isBlank() ? number : "");
            while (!taken.add(name)) {
                name += "_" + number;
            }
            found.add(name);
        }
        return found;
    }

    /**
     * Parse a schema.
     *
     * @throws Refused if the text is not a record schema
     */
    static Schema parsed(String text) throws Refused {
        try {
            Schema schema = new Schema.Parser().parse(text);
            if (schema.getType() != Schema.Type.RECORD) {
                throw new Refused("the schema is of type " + schema.getType().getName() + "; expected an Avro record");
            }
            return schema;
        } catch (AvroRuntimeException error) {
            throw new Refused("not an Avro schema: " + error.getMessage());
        }
    }

    /**
     * Return the columns of the schema's fields, in their order.
     *
     * @throws Refused if a field is not a column, or not a scalar, or a column has no field
     */
    static List<TypedColumn> columnsOf(Schema schema, List<String> header) throws Refused {
        List<String> names = namesOf(header);
        List<TypedColumn> found = new ArrayList<>();
        for (Schema.Field each : schema.getFields()) {
            FieldType type = TYPES.get(valueType(each.schema()));
            int alternatives = each.schema().isUnion() ? each.schema().getTypes().size() : 1;
            if (type == null || alternatives > (each.schema().isNullable() ? 2 : 1)) {
                throw new Refused("the schema's field '" + each.name() + "': type " + each.schema()
                        + ": expected string, int, long, float, double or boolean, or a union of one of them and null");
            }
            found.add(new TypedColumn(
                    TypedColumn.indexOf(each.name(), names), each.name(), type,
                    each.schema().isNullable() ? TypedColumn.WhenEmpty.NULL
                            : type == FieldType.TEXT ? TypedColumn.WhenEmpty.EMPTY_TEXT : TypedColumn.WhenEmpty.MALFORMED));
        }
        TypedColumn.requireAll(names, found);
        return found;
    }

    private static Schema.Type valueType(Schema schema) {
        return !schema.isUnion() ? schema.getType() : schema.getTypes().stream().map(Schema::getType)
                .filter(each -> each != Schema.Type.NULL).findFirst().orElse(Schema.Type.NULL);
    }

    @Override
    public byte[] encode(byte[] array, int from, int to) {
        List<String> values = Fields.of(array, from, to, delimiter);
        if (!TypedColumn.matchTypes(columns, values)) {
            return null;
        }
        var row = new GenericData.Record(schema);
        try {
            for (int field = 0; field < types.length; field++) {
                TypedColumn column = columns.get(field);
                row.put(field, valueOf(values.get(column.index()), column, types[field]));
            }
        } catch (ArithmeticException | NumberFormatException tooLarge) {
            return null;
        }
        try {
            bytes.reset();
            bytes.write(prefix);
            encoder = EncoderFactory.get().binaryEncoder(bytes, encoder);
            writer.write(row, encoder);
            encoder.flush();
        } catch (IOException error) {
            throw new UncheckedIOException(error);
        }
        return bytes.toByteArray();
    }

    private static Object valueOf(String text, TypedColumn column, Schema.Type type) {
        if (text.isEmpty() && column.whenEmpty() == TypedColumn.WhenEmpty.NULL) {
            return null;
        }
        return switch (type) {
            case INT -> Integer.valueOf(text);
            case LONG -> Long.valueOf(text);
            case FLOAT -> (float) finite(Float.parseFloat(text));
            case DOUBLE -> finite(Double.parseDouble(text));
            case BOOLEAN -> Boolean.valueOf(text);
            default -> text;
        };
    }

    private static double finite(double number) {
        if (Double.isInfinite(number)) {
            throw new ArithmeticException("beyond the type's range");
        }
        return number;
    }
}
