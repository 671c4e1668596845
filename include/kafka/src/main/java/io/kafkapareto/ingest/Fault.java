package io.kafkapareto.ingest;

import java.util.Locale;

/** Why a row is malformed and goes to the dead-letter topic. */
enum Fault {
    FIELDS("number of fields differs from the header"),
    QUOTE("unclosed quote, or text after the closing quote of a multi-line field"),
    NUL("contains a NUL character"),
    UTF8("not UTF-8"),
    TYPE("a value does not match its column's type"),
    TOO_LARGE("larger than max.request.size");

    private final String reason;

    Fault(String reason) {
        this.reason = reason;
    }

    String reason() {
        return reason;
    }

    /** Return its name in results and record headers. */
    String code() {
        return name().toLowerCase(Locale.ROOT);
    }
}
