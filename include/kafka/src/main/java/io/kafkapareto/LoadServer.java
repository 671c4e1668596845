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
 * Many loads in one warm JVM: one JSON array of the load generator's options per line on stdin, one JSON object per line
 * on stdout.
 *
 * <p>An answer is what the load generator prints, or {@code {"failure": "..."}} of a request that came to nothing; each
 * has {@code process_cpu_s}. Nothing but compiled code and loaded classes is left of a load: payloads, histograms and
 * producers are each load's own, and the heap is collected before the next. The process ends with its stdin, and at the
 * first line that is no request.
 */
public final class LoadServer {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final OperatingSystemMXBean PROCESS =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);

    private long answeredCpuNs;

    private LoadServer() {}

    public static void main(String[] arguments) throws IOException {
        PrintStream answers = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        System.setOut(System.err); // whatever else is printed is no answer
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
            answer = LoadGenerator.onCluster(LoadGenerator.parser().parseArgs(options));
        } catch (Exception failure) {
            String type = failure.getClass().getSimpleName();
            answer = JSON.createObjectNode().put("failure", type + ": " + ClusterAdmin.messagesOf(failure));
        }
        return answer.put("process_cpu_s", cpuSinceLastAnswerS());
    }

    /** Count all threads, from the last answer on, or from the start of the JVM: the answers add up to its whole cost. */
    private double cpuSinceLastAnswerS() {
        long beforeNs = answeredCpuNs;
        answeredCpuNs = PROCESS.getProcessCpuTime();
        return (answeredCpuNs - beforeNs) / 1e9;
    }
}
