package io.kafkapareto.ingest;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.StandardOpenOption;

/** Read a range of a file. */
final class StreamedBytes implements ByteSource {
    private final FileChannel file;
    private final long to;
    private long at;

    StreamedBytes(FileRange range) throws IOException {
        file = FileChannel.open(range.file(), StandardOpenOption.READ);
        at = range.from();
        to = range.to();
    }

    @Override
    public int read(byte[] into, int from, int most) throws IOException {
        int length = (int) Math.min(most, to - at);
        if (length <= 0) {
            return -1;
        }
        int read = file.read(ByteBuffer.wrap(into, from, length), at);
        at += Math.max(read, 0);
        return read;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
