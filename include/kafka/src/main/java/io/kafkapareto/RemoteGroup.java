package io.kafkapareto;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.MissingNode;
import java.io.IOException;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * The machines that send a load together, as a load machine sees them: by its link to the coordinator,
 * {@link LoadCoordinator}. If the link breaks, sending ends.
 */
final class RemoteGroup extends LoadGroup {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long COORDINATOR_CLOSES_WITHIN_MS = 15_000;

    private final MachineLink link;
    private final int place;
    private final int size;
    private final BlockingQueue<JsonNode> answers = new LinkedBlockingQueue<>();
    private final Thread listener = new Thread(this::listen, "load machine's listener");
    private volatile Runnable whenLost = () -> {};
    private long startErrorNs;

    RemoteGroup(MachineLink link, int place, int size) {
        this.link = link;
        this.place = place;
        this.size = size;
        listener.setDaemon(true);
        listener.start();
    }

    /** Answer questions for this machine's time at once; keep the other messages for {@link #meet}. */
    private void listen() {
        try {
            while (true) {
                JsonNode message = link.read();
                if (message.has("time")) {
                    link.send(JSON.createObjectNode().put("time_ns", System.nanoTime()));
                } else {
                    answers.add(message);
                }
            }
        } catch (IOException ended) {
            // nobody is left to tell
        } finally {
            failed.set(true);
            try {
                whenLost.run();
            } finally {
                answers.add(MissingNode.getInstance());
                link.close();
            }
        }
    }

    /** Wait until the coordinator has closed the link, or the machine would cut off its own last message. */
    void awaitEnd() throws InterruptedException {
        listener.join(COORDINATOR_CLOSES_WITHIN_MS);
    }

    @Override
    int place() {
        return place;
    }

    @Override
    int size() {
        return size;
    }

    @Override
    long start(MonotonicClock clock) {
        JsonNode answer = ask();
        startErrorNs = answer.path("error_ns").asLong();
        return answer.path("start_ns").asLong();
    }

    @Override
    void meet() {
        ask();
    }

    @Override
    void whenLost(Runnable action) {
        whenLost = action;
    }

    @Override
    long startErrorNs() {
        return startErrorNs;
    }

    private JsonNode ask() {
        try {
            link.send(JSON.createObjectNode().put("waits", true).put("failed", failed.get()));
            JsonNode answer = answers.take();
            if (answer.isMissingNode()) {
                throw new IllegalStateException("lost the connection to the coordinator");
            }
            failed.compareAndSet(false, answer.path("failed").asBoolean());
            return answer;
        } catch (IOException | InterruptedException error) {
            throw new IllegalStateException("cannot reach the coordinator", error);
        }
    }
}
