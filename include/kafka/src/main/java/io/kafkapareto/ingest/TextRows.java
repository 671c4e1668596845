package io.kafkapareto.ingest;

import java.io.IOException;
import java.io.InputStreamReader;
import java.io.Reader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;

/**
 * Read rows as text, as most programs do: one String per row or per field.
 *
 * <p>Each character is one byte (ISO 8859-1), so a line that is not UTF-8 keeps its bytes and its offset.
 */
final class TextRows implements RowSource {
    private static final int CHARACTERS = 8_192;

    private final Reader reader;
    private final char[] characters = new char[CHARACTERS];
    private final StringBuilder begun = new StringBuilder();
    private final FieldState state;
    private final boolean asFields;
    private final char delimiter;
    private final long rangeTo;
    private int at;
    private int limit;
    private long offset;
    private long nextOffset;
    private long line;
    private long nextLine;
    private boolean endsInLineFeed;
    private byte[] bytes;

    /** With {@code asFields} each field becomes a String, and the row is joined from them. */
    TextRows(FileRange range, boolean asFields, byte delimiter) throws IOException {
        var stream = Files.newInputStream(range.file());
        stream.skipNBytes(range.from());
        reader = new InputStreamReader(stream, StandardCharsets.ISO_8859_1);
        this.asFields = asFields;
        this.delimiter = (char) (delimiter & 0xFF);
        state = new FieldState(delimiter);
        nextOffset = range.from();
        rangeTo = range.to();
    }

    @Override
    public boolean next() throws IOException {
        offset = nextOffset;
        line = nextLine;
        String text = nextLine();
        if (text == null) {
            return false;
        }
        if (text.indexOf('"') >= 0) {
            text = withLinesInQuotes(text);
        }
        text = endsInLineFeed && text.endsWith("\r") ? text.substring(0, text.length() - 1) : text;
        bytes = (asFields ? String.join(String.valueOf(delimiter), fields(text)) : text)
                .getBytes(StandardCharsets.ISO_8859_1);
        return true;
    }

    private String withLinesInQuotes(String first) throws IOException {
        StringBuilder row = new StringBuilder(first);
        state.reset();
        follow(first);
        while (state.isOpen() && row.length() <= MOST_QUOTED_BYTES) {
            boolean endedInLineFeed = endsInLineFeed;
            String more = nextLine();
            if (more == null) {
                endsInLineFeed = endedInLineFeed;
                break;
            }
            row.append('\n').append(more);
            follow("\n" + more);
        }
        return row.toString();
    }

    private void follow(String text) {
        for (int at = 0; at < text.length(); at++) {
            state.separates((byte) text.charAt(at));
        }
    }

    /** Return the next line without its line feed, or null. */
    private String nextLine() throws IOException {
        begun.setLength(0);
        endsInLineFeed = false;
        while (nextOffset + begun.length() < rangeTo) {
            if (at == limit) {
                at = 0;
                limit = Math.max(reader.read(characters), 0);
                if (limit == 0) {
                    break;
                }
            }
            int end = nextLineFeed();
            if (end < limit) {
                String text = end > at && begun.isEmpty()
                        ? new String(characters, at, end - at) : begun.append(characters, at, end - at).toString();
                at = end + 1;
                nextOffset += text.length() + 1;
                nextLine++;
                endsInLineFeed = true;
                return text;
            }
            begun.append(characters, at, limit - at);
            at = limit;
        }
        nextOffset += begun.length();
        nextLine += begun.isEmpty() ? 0 : 1;
        return begun.isEmpty() ? null : begun.toString();
    }

    private int nextLineFeed() {
        int found = at;
        while (found < limit && characters[found] != '\n') {
            found++;
        }
        return found;
    }

    private List<String> fields(String text) {
        List<String> found = new ArrayList<>();
        state.reset();
        int begin = 0;
        for (int place = 0; place < text.length(); place++) {
            if (state.separates((byte) text.charAt(place))) {
                found.add(text.substring(begin, place));
                begin = place + 1;
            }
        }
        found.add(text.substring(begin));
        return found;
    }

    @Override
    public byte[] array() {
        return bytes;
    }

    @Override
    public int from() {
        return 0;
    }

    @Override
    public int to() {
        return bytes.length;
    }

    @Override
    public long offset() {
        return offset;
    }

    @Override
    public long line() {
        return line;
    }

    @Override
    public void close() throws IOException {
        reader.close();
    }
}
