package io.kafkapareto.ingest;

import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;

/**
 * Find bytes eight at a time: a mask has the highest bit of each byte found, the first byte lowest.
 *
 * <p>The test for a zero byte is exact (Warren, Hacker's Delight, 6-1): no byte is marked because of its neighbour.
 */
final class Words {
    static final int BYTES = 8;
    static final long HIGH_BITS = 0x8080_8080_8080_8080L;
    private static final long LOW_BITS = ~HIGH_BITS;
    private static final long LOWEST_BITS = 0x0101_0101_0101_0101L;
    private static final VarHandle LONGS =
            MethodHandles.byteArrayViewVarHandle(long[].class, ByteOrder.LITTLE_ENDIAN);

    private Words() {}

    static long at(byte[] array, int index) {
        return (long) LONGS.get(array, index);
    }

    /** Return eight times the same byte. */
    static long repeated(byte value) {
        return (value & 0xFFL) * LOWEST_BITS;
    }

    /** Mark the bytes of the word that equal those of the pattern. */
    static long equal(long word, long pattern) {
        long differing = word ^ pattern;
        return ~(((differing & LOW_BITS) + LOW_BITS) | differing | LOW_BITS);
    }

    /** Return some of {@link #HIGH_BITS} if any byte of the word is zero; not in its place, and with other bits. */
    static long zeros(long word) {
        return (word - LOWEST_BITS) & ~word;
    }

    /** Return the index of the first marked byte, from 0. */
    static int first(long mask) {
        return Long.numberOfTrailingZeros(mask) >>> 3;
    }
}
