package io.kafkapareto.ingest;

import java.io.Closeable;
import java.io.IOException;

/** Gives the bytes of a range of a file in order. */
interface ByteSource extends Closeable {
    /** Puts up to {@code most} bytes into the array and returns how many; -1 at the end of the range. */
    int read(byte[] into, int from, int most) throws IOException;
}
