package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.net.InetAddress;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import java.util.regex.Pattern;
import javax.net.ssl.SSLServerSocket;
import javax.net.ssl.SSLSocket;
import net.sourceforge.argparse4j.ArgumentParsers;
import net.sourceforge.argparse4j.inf.ArgumentParser;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.utils.AppInfoParser;

/**
 * Sends this machine's shares of the loads that {@link LoadCoordinator} asks for, one at a time, until stopped.
 *
 * <p>Cluster and login come from this machine's configuration; a request carries the options, producer settings and
 * file contents. The first line on stdout is the address that it listens on.
 */
public final class LoadMachine {
    /** Version of the messages between load machines and campaigns. */
    static final int PROTOCOL = 1;

    private static final ObjectMapper JSON = new ObjectMapper();
    private static final OperatingSystemMXBean PROCESS =
            ManagementFactory.getPlatformMXBean(OperatingSystemMXBean.class);
    private static final int HANDSHAKE_S = 5;
    private static final int WAITING_CONNECTIONS = 16;
    private static final int CLUSTER_WITHIN_S = 30;
    private static final Set<ConfigDef.Type> SETTABLE = EnumSet.of(
            ConfigDef.Type.BOOLEAN, ConfigDef.Type.DOUBLE, ConfigDef.Type.INT, ConfigDef.Type.LONG,
            ConfigDef.Type.SHORT, ConfigDef.Type.STRING);
    private static final Pattern OF_THE_LOGIN = Pattern.compile("(sasl|security|ssl)\\..*");

    private final Properties cluster;
    private final List<String> secrets;
    /** What a coordinator must know before it sends a load. */
    private final ObjectNode introduction;

    private LoadMachine(Properties cluster, List<String> secrets, ObjectNode introduction) {
        this.cluster = cluster;
        this.secrets = secrets;
        this.introduction = introduction;
    }

    public static void main(String[] arguments) {
        try {
            Namespace options = parser().parseArgs(arguments);
            serve(options);
        } catch (ArgumentParserException error) {
            parser().handleError(error);
            System.exit(2);
        } catch (IOException | GeneralSecurityException | KafkaException | IllegalArgumentException error) {
            System.err.println("error: " + ClusterAdmin.messagesOf(error));
            System.exit(1);
        }
    }

    private static void serve(Namespace options) throws IOException, GeneralSecurityException {
        Properties cluster = CommandLine.producerProperties(options.getString("command_config"));
        ObjectNode introduction = JSON.createObjectNode()
                .put("protocol", PROTOCOL)
                .put("started", UUID.randomUUID().toString())
                .put("kafka_version", AppInfoParser.getVersion())
                .put("heap_mib", options.getInt("heap_mib"))
                .put("cores", options.getDouble("cores"))
                .put("cluster_id", clusterId(cluster));
        List<String> secrets = List.of(JSON.readValue(Path.of(options.getString("secrets")).toFile(), String[].class));
        LoadMachine machine = new LoadMachine(cluster, secrets, introduction);
        try (SSLServerSocket listening = listening(options)) {
            System.out.println(listening.getInetAddress().getHostAddress() + ":" + listening.getLocalPort());
            System.setOut(System.err); // nobody reads more
            while (true) {
                machine.answer((SSLSocket) listening.accept());
            }
        }
    }

    private static String clusterId(Properties cluster) {
        try (Admin admin = Admin.create(cluster)) {
            return admin.describeCluster().clusterId().get(CLUSTER_WITHIN_S, TimeUnit.SECONDS);
        } catch (ExecutionException | java.util.concurrent.TimeoutException | InterruptedException error) {
            throw new KafkaException("the cluster cannot be reached", error);
        }
    }

    private static SSLServerSocket listening(Namespace options) throws IOException, GeneralSecurityException {
        var sockets = MachineCredentials.read(options.getString("credentials")).getServerSocketFactory();
        InetAddress address = InetAddress.getByName(options.getString("host"));
        SSLServerSocket listening =
                (SSLServerSocket) sockets.createServerSocket(options.getInt("port"), WAITING_CONNECTIONS, address);
        listening.setNeedClientAuth(true);
        return listening;
    }

    private static ArgumentParser parser() {
        ArgumentParser parser = ArgumentParsers.newArgumentParser("load-machine", true);
        parser.addArgument("--host").required(true);
        parser.addArgument("--port").type(Integer.class).required(true);
        parser.addArgument("--credentials").required(true).help("PEM file with the load machines' key and certificate");
        parser.addArgument("--command-config").required(true).help("a file of client properties: cluster and login");
        parser.addArgument("--secrets").required(true).help("JSON file with a list of texts to hide in messages");
        parser.addArgument("--cores").type(Double.class).required(true).help("CPU cores of this machine");
        parser.addArgument("--heap-mib").type(Integer.class).required(true).help("this JVM's heap");
        return parser;
    }

    /** Send one load; a failure ends only this one. */
    private void answer(SSLSocket socket) {
        String peer = String.valueOf(socket.getRemoteSocketAddress());
        try (MachineLink link = new MachineLink(socket, HANDSHAKE_S)) {
            link.send(introduction);
            JsonNode asked = link.read();
            long beganCpuNs = PROCESS.getProcessCpuTime();
            RemoteGroup group = new RemoteGroup(link, asked.path("place").asInt(), asked.path("size").asInt(1));
            ObjectNode answer;
            try {
                answer = withoutSecrets(send(asked, group));
            } catch (Exception | OutOfMemoryError failure) {
                String type = failure.getClass().getSimpleName();
                answer = JSON.createObjectNode().put("failure", hidden(type + ": " + ClusterAdmin.messagesOf(failure)));
            }
            link.send(answer.put("process_cpu_s", (PROCESS.getProcessCpuTime() - beganCpuNs) / 1e9));
            group.awaitEnd();
        } catch (IOException | RuntimeException error) {
            System.err.println(peer + ": " + error.getMessage());
        } catch (InterruptedException stopped) {
            Thread.currentThread().interrupt();
        }
    }

    private ObjectNode send(JsonNode asked, LoadGroup group) throws IOException, ArgumentParserException {
        System.gc();
        Namespace options = LoadGenerator.parser().parseArgs(JSON.treeToValue(asked.path("arguments"), String[].class));
        Properties settings = settings(asked.path("settings"));
        Supplier<LoadClient> clients = () -> new JavaClient(new KafkaProducer<>(settings));
        Payloads payloads = payloads(options, asked.path("files"));
        return new LoadGenerator(
                options.getString("topic"), payloads, clients, MonotonicClock.SYSTEM, WriteBack::settle, group)
                .send(options).toJson();
    }

    /** Return this machine's client properties with the load's settings; cluster and login remain this machine's. */
    private Properties settings(JsonNode asked) {
        Properties settings = new Properties();
        settings.putAll(cluster);
        Map<String, ConfigDef.ConfigKey> known = ProducerConfig.configDef().configKeys();
        asked.properties().forEach(each -> {
            String name = each.getKey();
            String value = each.getValue().asText();
            boolean settable = known.containsKey(name) && SETTABLE.contains(known.get(name).type)
                    && !OF_THE_LOGIN.matcher(name).matches();
            if (!settable || value.contains("${")) {
                throw new IllegalArgumentException(name + ": a load may not set this on a load machine");
            }
            settings.setProperty(name, value);
        });
        return settings;
    }

    /** Return the load's payloads; their files are here only while they are read. */
    private static Payloads payloads(Namespace options, JsonNode contents) throws IOException {
        Map<String, Path> files = new HashMap<>();
        try {
            for (var content : contents.properties()) {
                Path file = Files.createTempFile("load", ".payload"); // no other user can read it
                files.put(content.getKey(), file);
                Files.write(file, content.getValue().binaryValue());
            }
            return LoadGenerator.payloads(options, name -> files.get(name).toString());
        } finally {
            for (Path file : files.values()) {
                Files.deleteIfExists(file);
            }
        }
    }

    private ObjectNode withoutSecrets(ObjectNode outcome) {
        for (JsonNode part : outcome.path("parts")) {
            ObjectNode shown = JSON.createObjectNode();
            part.path("outcomes").path("failures").properties()
                    .forEach(each -> shown.put(hidden(each.getKey()), each.getValue().asInt()));
            ((ObjectNode) part.path("outcomes")).set("failures", shown);
        }
        return outcome;
    }

    private String hidden(String text) {
        String shown = text;
        for (String secret : secrets) {
            shown = shown.replace(secret, "[hidden]");
        }
        return shown;
    }
}
