package io.kafkapareto.ingest;

import java.util.Locale;
import net.jpountz.xxhash.XXHash64;
import net.jpountz.xxhash.XXHashFactory;

/**
 * Count rows and their bytes, and sum two hashes of each, independent of their order. Two different sets of rows have
 * equal counts and sums with a probability of 2<sup>-128</sup>.
 */
final class RowSums {
    private static final XXHash64 HASH = XXHashFactory.fastestInstance().hash64();
    private static final long FIRST_SEED = 0x1F2E_3D4C_5B6A_7988L;
    private static final long SECOND_SEED = 0x8877_6655_4433_2211L;

    private long rows;
    private long bytes;
    private long first;
    private long second;

    /** Add a row's value and key; {@code key} is null for none. */
    void add(byte[] array, int from, int length, byte[] key) {
        rows++;
        bytes += length + (key == null ? 0 : key.length);
        first += HASH.hash(array, from, length, seed(key, FIRST_SEED));
        second += HASH.hash(array, from, length, seed(key, SECOND_SEED));
    }

    private static long seed(byte[] key, long seed) {
        return key == null ? seed : HASH.hash(key, 0, key.length, seed);
    }

    long rows() {
        return rows;
    }

    long bytes() {
        return bytes;
    }

    /** Return both sums as one text. */
    String hash() {
        return String.format(Locale.ROOT, "%016x%016x", first, second);
    }
}
