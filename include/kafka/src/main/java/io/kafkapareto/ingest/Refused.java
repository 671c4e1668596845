package io.kafkapareto.ingest;

import java.io.IOException;

/** An ingestion that cannot be done as requested; the message gives the reason in one line. */
final class Refused extends IOException {
    /** Exit status for unusable input (sysexits.h): a retry cannot help. */
    static final int EXIT_CODE = 65;

    private static final long serialVersionUID = 1;

    Refused(String reason) {
        super(reason);
    }
}
