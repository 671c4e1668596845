package io.kafkapareto.ingest;

import java.util.Locale;

/** Why a row is malformed and goes to the dead-letter topic. */
enum Fault {
    FIELDS("it has another number of fields than the header"),
    QUOTE("unclosed quote, or text after the closing quote of a multi-line field"),
    NUL("it holds a NUL character"),
    UTF8("it is not UTF-8"),
    NUMBER("a field that is to be a number is none"),
    TOO_LARGE("it is larger than max.request.size allows");

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
