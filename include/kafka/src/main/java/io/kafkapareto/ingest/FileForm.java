package io.kafkapareto.ingest;

import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;

/** Detect files that are not plain text with one byte per letter by their first bytes, and name the conversion. */
final class FileForm {
    private static final int HEAD_BYTES = 64 << 10;
    private static final String UTF8_MARK = "efbbbf";

    /** A format identified by its first bytes, and the command that converts it to UTF-8 text. */
    private record Marked(String mark, String name, String command) {}

    private static final Marked[] MARKED = {  // UTF-32's mark starts with UTF-16's
        new Marked("fffe0000", "UTF-32", "iconv -f UTF-32 -t UTF-8"),
        new Marked("0000feff", "UTF-32", "iconv -f UTF-32 -t UTF-8"),
        new Marked("fffe", "UTF-16", "iconv -f UTF-16 -t UTF-8"),
        new Marked("feff", "UTF-16", "iconv -f UTF-16 -t UTF-8"),
        new Marked("1f8b", "compressed by gzip", "gzip -dc"),
        new Marked("425a68", "compressed by bzip2", "bzip2 -dc"),
        new Marked("fd377a585a00", "compressed by xz", "xz -dc"),
        new Marked("28b52ffd", "compressed by zstd", "zstd -dc"),
        new Marked("504b0304", "a zip archive or a spreadsheet", ""),
    };

    private FileForm() {}

    /**
     * Return the range of the file's text, without UTF-8's mark.
     *
     * @throws Refused if it has another format
     */
    static FileRange textOf(Path file) throws IOException {
        byte[] head;
        try (InputStream stream = Files.newInputStream(file)) {
            head = stream.readNBytes(HEAD_BYTES);
        }
        String begin = HexFormat.of().formatHex(head, 0, Math.min(head.length, 8));
        for (Marked each : MARKED) {
            if (begin.startsWith(each.mark)) {
                throw new Refused(file + ": is " + each.name + ", expected UTF-8 text; "
                        + (each.command.isEmpty() ? "unpack it, or save the sheet as CSV" : converting(each.command, file)));
            }
        }
        requireNoNul(file, head);
        requireLineFeeds(file, head);
        FileRange whole = FileRange.whole(file);
        return begin.startsWith(UTF8_MARK) ? whole.startingAt(UTF8_MARK.length() / 2) : whole;
    }

    private static void requireNoNul(Path file, byte[] head) throws Refused {
        int[] nuls = new int[2];
        for (int at = 0; at < head.length; at++) {
            nuls[at % 2] += head[at] == 0 ? 1 : 0;
        }
        if (nuls[0] + nuls[1] == 0) {
            return;
        }
        boolean isWide = 3 * (nuls[0] + nuls[1]) > head.length;
        String order = nuls[1] > nuls[0] ? "LE" : "BE";
        throw new Refused(file + ": contains NUL characters, "
                + (isWide ? "typical of UTF-16; " + converting("iconv -f UTF-16" + order + " -t UTF-8", file)
                        : "invalid in CSV; remove them with: tr -d '\\0' < " + quoted(file) + " > new.csv"));
    }

    private static void requireLineFeeds(Path file, byte[] head) throws Refused {
        int feeds = 0;
        int returns = 0;
        for (int at = 0; at < head.length; at++) {
            feeds += head[at] == '\n' ? 1 : 0;
            returns += head[at] == '\r' && at + 1 < head.length && head[at + 1] != '\n' ? 1 : 0;
        }
        if (returns > feeds) {
            throw new Refused(file + ": ends its lines with carriage returns, expected line feeds; convert it with: "
                    + "tr '\\r' '\\n' < " + quoted(file) + " > new.csv");
        }
    }

    private static String converting(String command, Path file) {
        return "convert it with: " + command + " " + quoted(file) + " > new.csv";
    }

    /** Return the file's path quoted for a shell. */
    static String quoted(Path file) {
        String path = file.toString();
        return path.matches("[\\w@%+=:,./-]+") ? path : "'" + path.replace("'", "'\\''") + "'";
    }
}
