package io.kafkapareto.ingest;

import java.io.BufferedOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Locale;
import java.util.SplittableRandom;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;

/** Write a CSV file of made-up books: the same file for the same seed, about 90 bytes per row. */
public final class BooksFile {
    private static final String HEADER = "id,isbn,title,author,publisher,year,pages,language,price,rating";
    private static final String[] NOUNS = {
        "River", "Garden", "Winter", "House", "Letter", "Island", "Shadow", "Mirror", "Harbour", "Orchard", "Signal",
        "Mountain", "Library", "Bridge", "Voyage", "Stone", "Forest", "Clock", "Market", "Season", "Été", "Straße",
    };
    private static final String[] ADJECTIVES = {
        "Quiet", "Last", "Hidden", "Golden", "Broken", "Distant", "Second", "Northern", "Silent", "Lost", "Red", "Long",
    };
    private static final String[] FIRST_NAMES = {
        "Anna", "Maria", "John", "Luis", "Chen", "Aisha", "Peter", "Olga", "José", "Emma", "Noah", "Yuki", "Ines", "Karl",
    };
    private static final String[] LAST_NAMES = {
        "Silva", "Garcia", "Smith", "Müller", "Wang", "Khan", "Novak", "Rossi", "Tanaka", "Brown", "Costa", "Weber",
        "Ivanova", "Okafor", "Nielsen", "Moreau",
    };
    private static final String[] PUBLISHERS = {
        "Aldine Press", "Blue Lamp", "\"Carter, Dane & Co\"", "Delta", "Editora Sol", "Fennel House", "Grand Quay",
    };
    private static final String[] LANGUAGES = {"en", "pt", "de", "fr", "es", "it", "ja"};

    private BooksFile() {}

    public static void main(String[] arguments) throws IOException {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("books-file", true);
        parser.addArgument("--file").required(true);
        parser.addArgument("--rows").type(Long.class).required(true);
        parser.addArgument("--seed").type(Long.class).required(true);
        try {
            Namespace options = parser.parseArgs(arguments);
            write(Path.of(options.getString("file")), options.getLong("rows"), options.getLong("seed"));
        } catch (ArgumentParserException error) {
            parser.handleError(error);
            System.exit(2);
        }
    }

    /** Write a temporary file first, so the file is complete or absent. */
    static void write(Path file, long rows, long seed) throws IOException {
        SplittableRandom random = new SplittableRandom(seed);
        Path begun = file.resolveSibling(file.getFileName() + ".part");
        StringBuilder row = new StringBuilder(160);
        try (OutputStream written = new BufferedOutputStream(Files.newOutputStream(begun), 1 << 20)) {
            written.write((HEADER + "\n").getBytes(StandardCharsets.UTF_8));
            for (long id = 1; id <= rows; id++) {
                row.setLength(0);
                append(row, id, random);
                written.write(row.toString().getBytes(StandardCharsets.UTF_8));
            }
        }
        Files.move(begun, file, StandardCopyOption.ATOMIC_MOVE);
    }

    private static void append(StringBuilder row, long id, SplittableRandom random) {
        row.append(id).append(",978").append(1_000_000_000L + random.nextLong(9_000_000_000L)).append(',');
        appendTitle(row, random);
        row.append(',').append(one(FIRST_NAMES, random)).append(' ').append(one(LAST_NAMES, random));
        row.append(',').append(one(PUBLISHERS, random));
        row.append(',').append(1950 + random.nextInt(76)).append(',').append(60 + random.nextInt(900));
        row.append(',').append(one(LANGUAGES, random)).append(',');
        appendDecimal(row, 199 + random.nextInt(9_800));
        row.append(',');
        appendDecimal(row, 100 + random.nextInt(401));
        row.append('\n');
    }

    /** Every tenth title needs quotes, and some of these hold one. */
    private static void appendTitle(StringBuilder row, SplittableRandom random) {
        String adjective = one(ADJECTIVES, random);
        String noun = one(NOUNS, random);
        int kind = random.nextInt(20);
        if (kind == 0) {
            row.append("\"The ").append(adjective).append(" \"\"").append(noun).append("\"\", vol. ")
                    .append(1 + random.nextInt(9)).append('"');
        } else if (kind == 1) {
            row.append('"').append(noun).append(", ").append(adjective.toLowerCase(Locale.ROOT)).append('"');
        } else {
            row.append("The ").append(adjective).append(' ').append(noun).append(" of ").append(one(NOUNS, random));
        }
    }

    private static void appendDecimal(StringBuilder row, int hundredths) {
        row.append(hundredths / 100).append('.');
        int rest = hundredths % 100;
        row.append(rest < 10 ? "0" : "").append(rest);
    }

    private static String one(String[] texts, SplittableRandom random) {
        return texts[random.nextInt(texts.length)];
    }
}
