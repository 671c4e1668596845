package io.kafkapareto.ingest;

import java.io.IOException;

/** Find rows in a file's bytes, eight bytes at a time, without creating objects. */
final class LineScanner implements RowSource {
    private static final int CHUNK_BYTES = 256 << 10;
    /** A longer line is not a row, and the file probably not a CSV. */
    private static final int MOST_LINE_BYTES = 256 << 20;
    private static final long LINE_FEEDS = Words.repeated((byte) '\n');
    private static final long QUOTES = Words.repeated((byte) '"');

    private final ByteSource source;
    private final FieldState state;
    private byte[] array;
    private int limit;
    private int nextFrom;
    private int from;
    private int to;
    private long line;
    private long nextLine;
    private long arrayOffset;
    private boolean ended;

    LineScanner(ByteSource source, long offset, byte delimiter) {
        this(source, offset, delimiter, CHUNK_BYTES);
    }

    LineScanner(ByteSource source, long offset, byte delimiter, int chunkBytes) {
        this.source = source;
        state = new FieldState(delimiter);
        array = new byte[chunkBytes + Words.BYTES];
        arrayOffset = offset;
    }

    @Override
    public boolean next() throws IOException {
        state.reset();
        line = nextLine;
        boolean hasQuotes = false;
        int followed = 0;  // bytes of the row's lines before the current one
        int at = nextFrom;
        while (true) {
            int end = -1;
            for (; at < limit && end < 0; at += Words.BYTES) {
                long word = Words.at(array, at);
                hasQuotes |= Words.equal(word, QUOTES) != 0;
                long found = Words.equal(word, LINE_FEEDS);
                end = found == 0 ? -1 : at + Words.first(found);
            }
            if (end >= 0 && end < limit) {
                nextLine++;
                if (!hasQuotes || !goesOn(nextFrom + followed, end)) {
                    return take(end);
                }
                followed = end + 1 - nextFrom;
                at = end + 1;
            } else if (ended) {
                return takeLast(followed);
            } else {
                fill(limit - nextFrom);
                at = followed;
            }
        }
    }

    /** Return whether the line leaves a quote open, so the row continues on the next line. */
    private boolean goesOn(int lineFrom, int end) {
        state.follow(array, lineFrom, end + 1);
        return state.isOpen() && end - nextFrom <= MOST_QUOTED_BYTES;
    }

    private boolean takeLast(int followed) {
        int kept = limit - nextFrom;
        if (kept == 0) {
            return false;
        }
        nextLine += followed < kept ? 1 : 0;
        return take(followed < kept ? limit : limit - 1);
    }

    private boolean take(int end) {
        from = nextFrom;
        to = end > from && end < limit && array[end - 1] == '\r' ? end - 1 : end;
        nextFrom = Math.min(end + 1, limit);
        return true;
    }

    /** Move the remaining bytes to the front, and read more after them. */
    private void fill(int kept) throws IOException {
        if (kept >= MOST_LINE_BYTES) {
            throw new Refused("line " + (nextLine + 1) + " has more than " + (MOST_LINE_BYTES >> 20)
                    + " MiB; the file is probably not a CSV");
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
