package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNotEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the studies' file: the same for a seed, all rows well-formed, row sizes as published. */
class BooksFileTest {
    private static final int ROWS = 3_000;
    private static final int MOST_BYTES = 1 << 20;

    @TempDir
    private Path folder;

    @Test
    void aSeedGivesTheSameFile() throws Exception {
        assertEquals(-1, Files.mismatch(made(1, "a"), made(1, "b")));
        assertNotEquals(-1, Files.mismatch(made(1, "a"), made(2, "b")));
    }

    @Test
    void everyRowFitsTheHeaderAndCanBeEncoded() throws Exception {
        CsvFile file = CsvFile.open(made(1, "books"), (byte) ',', "avro", MOST_BYTES);
        RowCheck check = file.newCheck();
        RowEncoder encoder = file.newEncoder();
        RowSums plain = new RowSums();
        RowSums encoded = new RowSums();
        try (RowSource rows = RowReader.SLICES.open(file.rows(), (byte) ',')) {
            while (rows.next()) {
                assertEquals(null, check.faultOf(rows.array(), rows.from(), rows.to()));
                plain.add(rows.array(), rows.from(), rows.to() - rows.from(), null);
                byte[] value = encoder.encode(rows.array(), rows.from(), rows.to());
                encoded.add(value, 0, value.length, null);
            }
        }

        assertEquals(10, file.fields());
        assertEquals(ROWS, plain.rows());
        assertNotEquals(plain.hash(), encoded.hash());
        long bytes = Files.size(folder.resolve("books.csv"));
        assertTrue(bytes > 80L * ROWS && bytes < 100L * ROWS, bytes + " bytes");
    }

    private Path made(long seed, String name) throws Exception {
        Path file = folder.resolve(name + ".csv");
        BooksFile.write(file, ROWS, seed);
        return file;
    }
}
