package io.kafkapareto.ingest;

import java.io.IOException;
import java.util.Arrays;

/** Finds lines in a file's bytes, eight bytes at a time, and makes no object for any. */
final class LineScanner implements RowSource {
    private static final int CHUNK_BYTES = 256 << 10;
    /** A line that is longer is no row, and the file most likely no CSV. */
    private static final int MOST_LINE_BYTES = 256 << 20;
    private static final long LINE_FEEDS = Words.repeated((byte) '\n');

    private final ByteSource source;
    private byte[] array;
    private int limit;
    private int nextFrom;
    private int from;
    private int to;
    private long line = -1;
    private long arrayOffset;
    private boolean ended;

    LineScanner(ByteSource source, long offset) {
        this(source, offset, CHUNK_BYTES);
    }

    LineScanner(ByteSource source, long offset, int chunkBytes) {
        this.source = source;
        array = new byte[chunkBytes + Words.BYTES];
        arrayOffset = offset;
    }

    @Override
    public boolean next() throws IOException {
        int at = nextFrom;
        while (true) {
            for (; at < limit; at += Words.BYTES) {
                long found = Words.equal(Words.at(array, at), LINE_FEEDS);
                if (found != 0) {
                    int end = at + Words.first(found);
                    if (end >= limit) {
                        break;
                    }
                    return take(end);
                }
            }
            int kept = limit - nextFrom;
            if (ended) {
                return kept > 0 && take(limit);
            }
            fill(kept);
            at = 0;
        }
    }

    private boolean take(int end) {
        from = nextFrom;
        to = end > from && end < limit && array[end - 1] == '\r' ? end - 1 : end;
        nextFrom = Math.min(end + 1, limit);
        line++;
        return true;
    }

    /** Moves what is left to the front, and reads on behind it. */
    private void fill(int kept) throws IOException {
        if (kept >= MOST_LINE_BYTES) {
            throw new IOException("line " + (line + 2) + " has more than " + (MOST_LINE_BYTES >> 20)
                    + " MiB: is the file a CSV?");
        }
        byte[] before = array;
        if (kept > (array.length - Words.BYTES) / 2) {
            array = new byte[2 * array.length];
        }
        System.arraycopy(before, nextFrom, array, 0, kept);
        arrayOffset += nextFrom;
        nextFrom = 0;
        limit = kept;
        int read = source.read(array, kept, array.length - Words.BYTES - kept);
        ended = read < 0;
        limit += Math.max(read, 0);
    }

    @Override
    public byte[] array() {
        return array;
    }

    @Override
    public int from() {
        return from;
    }

    @Override
    public int to() {
        return to;
    }

    @Override
    public long offset() {
        return arrayOffset + from;
    }

    @Override
    public long line() {
        return line;
    }

    @Override
    public void close() throws IOException {
        source.close();
    }
}
