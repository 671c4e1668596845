package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.Closeable;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetSocketAddress;
import java.net.NoRouteToHostException;
import java.net.SocketTimeoutException;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Runs one load on several load machines and merges their outcomes. Each machine runs its share of the producers, from
 * a common start.
 *
 * <p>A machine's monotonic clock is compared with ours before each start: in the fastest of a few exchanges, it
 * answered at the middle of the exchange, give or take half its length (as in NTP: RFC 5905, section 8). A failed
 * record ends sending on all machines at their next meeting.
 */
final class LoadCoordinator implements Closeable {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final int CONNECTING_MS = 10_000;
    /** A machine that is restarted is back within this time. */
    private static final long ABSENT_NS = TimeUnit.SECONDS.toNanos(30);
    private static final long RETRY_NS = TimeUnit.MILLISECONDS.toNanos(500);
    private static final int HANDSHAKE_S = 15;
    private static final int COMPARISONS = 8;
    /** Time for the start message to reach every machine. */
    private static final long LEAD_NS = TimeUnit.MILLISECONDS.toNanos(20);
    /** When each machine that this JVM has used was started, by address: a restarted one is cold. */
    private static final Map<String, String> STARTED = new HashMap<>();

    private final List<Machine> machines = new ArrayList<>();
    private final double mostSpreadMs;

    private LoadCoordinator(double mostSpreadMs) {
        this.mostSpreadMs = mostSpreadMs;
    }

    /** A machine's address, the connection to it, and what it said about itself. */
    private record Machine(String address, MachineLink link, JsonNode introduction) {
        void send(JsonNode message) throws LostMachineException {
            try {
                link.send(message);
            } catch (IOException error) {
                throw new LostMachineException(address, error);
            }
        }

        JsonNode read() throws LostMachineException {
            try {
                return link.read();
            } catch (IOException error) {
                throw new LostMachineException(address, error);
            }
        }

        /** Return its next object, empty if it has nothing to say. */
        JsonNode next() throws LostMachineException {
            try {
                return link.next();
            } catch (IOException error) {
                throw new LostMachineException(address, error);
            }
        }

        /** Compare its clock with ours; return the comparison with the least error. */
        Comparison compared() throws LostMachineException {
            Comparison best = null;
            for (int each = 0; each < COMPARISONS; each++) {
                long askedNs = System.nanoTime();
                send(JSON.createObjectNode().put("time", true));
                long theirsNs = read().path("time_ns").asLong();
                long errorNs = (System.nanoTime() - askedNs) / 2;
                if (best == null || errorNs < best.errorNs) {
                    best = new Comparison(theirsNs - askedNs - errorNs, errorNs);
                }
            }
            return best;
        }
    }

    /** How far a machine's clock is ahead of ours. */
    private record Comparison(long offsetNs, long errorNs) {}

    /** A machine cannot be reached, was lost during a load, or has lost its warm JVM. */
    private static final class LostMachineException extends Exception {
        private static final long serialVersionUID = 1;

        LostMachineException(String address, String reason) {
            super(address + ": " + reason);
        }

        LostMachineException(String address, IOException error) {
            super(address + ": " + ClusterAdmin.messagesOf(error), error);
        }
    }

    /** A machine is not fit for any load of this campaign. */
    private static final class UnfitMachineException extends Exception {
        private static final long serialVersionUID = 1;

        UnfitMachineException(String address, String reason) {
            super(address + ": " + reason);
        }
    }

    /** Run the load; of a lost or unfit machine, return only its address and the reason. */
    static ObjectNode load(Namespace options, String[] arguments) throws Exception {
        try (LoadCoordinator machines = new LoadCoordinator(options.getDouble("machine_start_ms"))) {
            SSLContext context = MachineCredentials.read(options.getString("machine_credentials"));
            long untilNs = System.nanoTime() + ABSENT_NS;
            for (Object address : options.getList("machine")) {
                machines.connect(address.toString(), context, untilNs);
            }
            machines.requireFit(options);
            return machines.send(options, arguments);
        } catch (LostMachineException lost) {
            return JSON.createObjectNode().put("lost_machine", lost.getMessage());
        } catch (UnfitMachineException unfit) {
            return JSON.createObjectNode().put("unfit_machine", unfit.getMessage());
        }
    }

    private void connect(String address, SSLContext context, long untilNs) throws LostMachineException {
        while (true) {
            try {
                MachineLink link = linked(address, context);
                try {
                    machines.add(new Machine(address, link, link.read()));
                } catch (IOException error) {
                    link.close();
                    throw error;
                }
                return;
            } catch (ConnectException | NoRouteToHostException | SocketTimeoutException absent) {
                if (System.nanoTime() > untilNs) {
                    throw new LostMachineException(address, "cannot be reached: " + absent.getMessage());
                }
                LockSupport.parkNanos(RETRY_NS);
            } catch (UnknownHostException unknown) {
                throw new LostMachineException(address, "unknown host");
            } catch (SSLHandshakeException refused) {
                boolean differs = refused.getCause() instanceof GeneralSecurityException;
                String reason = differs ? "has other credentials: " : "refused the connection: ";
                throw new LostMachineException(address, reason + refused.getMessage());
            } catch (IOException error) {
                throw new LostMachineException(address, error);
            }
        }
    }

    private static MachineLink linked(String address, SSLContext context) throws IOException {
        int colon = address.lastIndexOf(':');
        SSLSocket socket = (SSLSocket) context.getSocketFactory().createSocket();
        try {
            int port = Integer.parseInt(address.substring(colon + 1));
            socket.connect(new InetSocketAddress(address.substring(0, colon), port), CONNECTING_MS);
        } catch (IOException error) {
            socket.close();
            throw error;
        }
        return new MachineLink(socket, HANDSHAKE_S);
    }

    private void requireFit(Namespace options) throws LostMachineException, UnfitMachineException {
        for (Machine machine : machines) {
            JsonNode said = machine.introduction;
            String address = machine.address;
            if (said.path("protocol").asInt() != LoadMachine.PROTOCOL) {
                throw new UnfitMachineException(address, "has another version of kafka-pareto");
            }
            String version = said.path("kafka_version").asText();
            if (!version.equals(AppInfoParser.getVersion())) {
                throw new UnfitMachineException(
                        address, "has Kafka's client " + version + ", not " + AppInfoParser.getVersion());
            }
            String cluster = said.path("cluster_id").asText();
            if (!cluster.equals(options.getString("cluster_id"))) {
                throw new UnfitMachineException(
                        address, "sends to cluster " + cluster + ", not " + options.getString("cluster_id")
                        + "; restart it with --kafka");
            }
            int neededMib = options.getInt("machine_heap_mib");
            if (said.path("heap_mib").asInt() < neededMib) {
                throw new UnfitMachineException(
                        address, "has a heap of " + said.path("heap_mib").asInt() + " MiB, and these settings need "
                        + neededMib + " MiB; restart it with --heap-mib");
            }
            String started = said.path("started").asText();
            if (!started.equals(STARTED.getOrDefault(address, started))) {
                throw new LostMachineException(address, "was restarted");
            }
            STARTED.put(address, started);
        }
    }

    private ObjectNode send(Namespace options, String[] arguments) throws IOException, LostMachineException {
        ObjectNode asked = asked(options, arguments);
        for (int place = 0; place < machines.size(); place++) {
            machines.get(place).send(asked.put("place", place));
        }
        List<JsonNode> answers = answers();
        while (answers.stream().allMatch(each -> each.has("waits"))) {
            start(answers.stream().anyMatch(each -> each.path("failed").asBoolean()));
            answers = answers();
        }
        return merged(answers);
    }

    private ObjectNode asked(Namespace options, String[] arguments) throws IOException {
        ObjectNode asked = JSON.createObjectNode().put("size", machines.size());
        asked.set("arguments", JSON.valueToTree(arguments));
        Properties properties = CommandLine.properties(options.getString("command_config"));
        properties.remove("bootstrap.servers"); // each machine has its own
        ObjectNode settings = asked.putObject("settings");
        properties.forEach((name, value) -> settings.put(name.toString(), value.toString()));
        ObjectNode files = asked.putObject("files");
        for (String option : List.of("sample", "payload_file")) {
            String file = options.getString(option);
            if (file != null) {
                files.put(file, Files.readAllBytes(Path.of(file)));
            }
        }
        return asked;
    }

    /**
     * Return each machine's next message. Those that have not sent one are read in turn; each says every few seconds
     * that it is alive, so a lost machine is noticed while the others send.
     */
    private List<JsonNode> answers() throws LostMachineException {
        JsonNode[] answers = new JsonNode[machines.size()];
        while (Arrays.asList(answers).contains(null)) {
            for (int place = 0; place < answers.length; place++) {
                JsonNode message = answers[place] == null ? machines.get(place).next() : answers[place];
                if (message.has("failure")) {
                    throw new IllegalStateException(
                            machines.get(place).address + ": " + message.get("failure").asText());
                }
                answers[place] = message.isEmpty() ? null : message;
            }
        }
        return List.of(answers);
    }

    private void start(boolean failed) throws LostMachineException {
        List<Comparison> comparisons = new ArrayList<>();
        for (Machine machine : machines) {
            comparisons.add(machine.compared());
        }
        for (int place = 0; place < machines.size(); place++) {
            double roundTripMs = 2 * comparisons.get(place).errorNs / 1e6;
            if (machines.size() > 1 && roundTripMs > mostSpreadMs) {
                throw new LostMachineException(machines.get(place).address, String.format(
                        "its round trip of %.2f ms is too long to start it within %.2f ms of the others",
                        roundTripMs, mostSpreadMs));
            }
        }
        long largestErrorNs = comparisons.stream().mapToLong(Comparison::errorNs).max().getAsLong();
        long startNs = System.nanoTime() + LEAD_NS + 2 * largestErrorNs;
        for (int place = 0; place < machines.size(); place++) {
            Comparison comparison = comparisons.get(place);
            machines.get(place).send(JSON.createObjectNode()
                    .put("start_ns", startNs + comparison.offsetNs)
                    .put("error_ns", comparison.errorNs)
                    .put("failed", failed));
        }
    }

    private ObjectNode merged(List<JsonNode> answers) throws IOException {
        List<LoadOutcome> outcomes = new ArrayList<>();
        for (JsonNode answer : answers) {
            outcomes.add(LoadOutcome.ofJson(answer));
        }
        LoadOutcome merged = LoadOutcome.merged(outcomes);
        ObjectNode described = merged.described();
        for (int part = 0; part < merged.parts().size(); part++) {
            double spreadMs = PartOutcome.startSpreadMs(LoadOutcome.ofPart(outcomes, part));
            ((ObjectNode) described.get("parts").get(part)).put("start_spread_ms", spreadMs);
        }
        ArrayNode each = described.putArray("machines");
        for (int place = 0; place < machines.size(); place++) {
            describe(machines.get(place), answers.get(place), outcomes.get(place), each.addObject());
        }
        return described;
    }

    private static void describe(Machine machine, JsonNode answer, LoadOutcome outcome, ObjectNode described) {
        described.put("address", machine.address)
                .put("cores", machine.introduction.path("cores").asDouble())
                .put("process_cpu_s", answer.path("process_cpu_s").asDouble());
        ArrayNode acknowledged = described.putArray("acknowledged");
        outcome.parts().forEach(part -> acknowledged.add(part.outcomes().acknowledged()));
    }

    @Override
    public void close() {
        machines.forEach(machine -> machine.link.close());
    }
}
