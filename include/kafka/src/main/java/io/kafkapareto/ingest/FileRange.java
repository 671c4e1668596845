package io.kafkapareto.ingest;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The bytes of a file from the start of one line to the start of another, or to the end. */
record FileRange(Path file, long from, long to) {
    private static final int PROBE_BYTES = 64 << 10;

    static FileRange whole(Path file) throws IOException {
        return new FileRange(file, 0, Files.size(file));
    }

    FileRange startingAt(long offset) {
        return new FileRange(file, offset, to);
    }

    long bytes() {
        return to - from;
    }

    /** Split the range into this many ranges of about equal size; with long lines ranges can be empty. */
    List<FileRange> split(int count) throws IOException {
        List<FileRange> found = new ArrayList<>();
        long begin = from;
        for (int number = 1; number <= count; number++) {
            long end = number == count ? to : Math.max(lineAfter(from + bytes() * number / count), begin);
            found.add(new FileRange(file, begin, end));
            begin = end;
        }
        return found;
    }

    /** Count the lines before this range. */
    long linesBefore() throws IOException {
        long lines = 0;
        byte[] bytes = new byte[1 << 20];
        try (ByteSource before = new StreamedBytes(new FileRange(file, 0, from))) {
            for (int read = before.read(bytes, 0, bytes.length); read >= 0; read = before.read(bytes, 0, bytes.length)) {
                for (int at = 0; at < read; at++) {
                    lines += bytes[at] == '\n' ? 1 : 0;
                }
            }
        }
        return lines;
    }

    /** Return the offset of the first line that starts at this offset or later. */
    private long lineAfter(long place) throws IOException {
        if (place <= from) {
            return from;
        }
        byte[] bytes = new byte[PROBE_BYTES];
        long at = place - 1;  // a line may start exactly here
        try (ByteSource rest = new StreamedBytes(new FileRange(file, at, to))) {
            for (int read = rest.read(bytes, 0, bytes.length); read >= 0; read = rest.read(bytes, 0, bytes.length)) {
                for (int found = 0; found < read; found++) {
                    if (bytes[found] == '\n') {
                        return at + found + 1;
                    }
                }
                at += read;
            }
        }
        return to;
    }
}
