package io.kafkapareto.ingest;

import java.io.IOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;

/** Copy a range of a file out of the page cache, mapped in pieces of at most 2 GiB. */
final class MappedBytes implements ByteSource {
    private static final long PIECE_BYTES = 1L << 30;

    private final FileChannel file;
    private final long to;
    private final long pieceBytes;
    private long at;
    private long pieceFrom;
    private MappedByteBuffer piece;

    MappedBytes(FileRange range) throws IOException {
        this(range, PIECE_BYTES);
    }

    MappedBytes(FileRange range, long pieceBytes) throws IOException {
        file = FileChannel.open(range.file(), StandardOpenOption.READ);
        at = range.from();
        to = range.to();
        this.pieceBytes = pieceBytes;
    }

    @Override
    public int read(byte[] into, int from, int most) throws IOException {
        if (at >= to) {
            return -1;
        }
        if (piece == null || at >= pieceFrom + piece.capacity()) {
            pieceFrom = at;
            piece = file.map(FileChannel.MapMode.READ_ONLY, at, Math.min(pieceBytes, to - at));
        }
        int place = (int) (at - pieceFrom);
        int length = Math.min(most, piece.capacity() - place);
        piece.get(place, into, from, length);
        at += length;
        return length;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
