package io.kafkapareto.ingest;

import java.io.IOException;

/** Says in one line why an ingestion cannot be done as it was asked for, before or while it sends. */
final class Refused extends IOException {
    /** What a process ends with that was given something unusable (sysexits.h): a retry cannot help. */
    static final int EXIT_CODE = 65;

    private static final long serialVersionUID = 1;

    Refused(String reason) {
        super(reason);
    }
}
