package io.kafkapareto.ingest;

import java.io.Closeable;
import java.io.IOException;

/** The bytes of a range of a file, in order. */
interface ByteSource extends Closeable {
    /** Put up to {@code most} bytes into the array and return how many; -1 at the end of the range. */
    int read(byte[] into, int from, int most) throws IOException;
}
