package io.kafkapareto;

import kafka.tools.StorageTool;

/** Format the storage of several KRaft nodes in one JVM: {@code FormatStorage <cluster id> <server.properties>...}. */
public final class FormatStorage {
    private FormatStorage() {}

    public static void main(String[] arguments) {
        for (int node = 1; node < arguments.length; node++) {
            String[] command = {"format", "--ignore-formatted", "-t", arguments[0], "-c", arguments[node]};
            int status = StorageTool.execute(command, System.out);
            if (status != 0) {
                System.exit(status);
            }
        }
    }
}
