package io.kafkapareto;

import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;

/**
 * Runs many loads in one warm JVM: one JSON array of the load generator's options per line on stdin, one JSON object
 * per line on stdout.
 *
 * <p>A reply is the load generator's output, or {@code {"failure": "..."}} for a failed request; each has
 * {@code process_cpu_s}. Loads share only compiled code and loaded classes: each has its own payloads, histograms and
 * producers, and the heap is collected before the next. The process ends with its stdin, and at the first line that is
 * not a request.
 */
public final class LoadServer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final OperatingSystemMXBean PROCESS =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private long answeredCpuNs;

    private LoadServer() {}

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // keeps other output out of the replies
        BufferedReader requests = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        LoadServer server = new LoadServer();
        for (String line = requests.readLine(); line != null; line = requests.readLine()) {
            answers.println(JSON.writeValueAsString(server.answer(JSON.readValue(line, String[].class))));
        }
    }

    private ObjectNode answer(String[] options) {
        System.gc();
        ObjectNode answer;
        try {
            answer = LoadGenerator.onCluster(LoadGenerator.parser().parseArgs(options), options);
        } catch (Exception failure) {
            String type = failure.getClass().getSimpleName();
            answer = JSON.createObjectNode().put("failure", type + ": " + ClusterAdmin.messagesOf(failure));
        }
        return answer.put("process_cpu_s", cpuSinceLastAnswerS());
    }

    /** Return the CPU time of all threads since the last reply or the JVM's start; the replies add up to the total. */
    private double cpuSinceLastAnswerS() {
        long beforeNs = answeredCpuNs;
        answeredCpuNs = PROCESS.getProcessCpuTime();
        return (answeredCpuNs - beforeNs) / 1e9;
    }
}
