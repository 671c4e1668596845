package io.kafkapareto;

import com.fasterxml.jackson.core.JsonFactory;
import com.fasterxml.jackson.core.StreamReadConstraints;
import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.Closeable;
import java.io.EOFException;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.net.ssl.SSLSocket;

/**
 * A connection to another machine: one JSON object per line, in both directions. Each end sends an empty object every
 * few seconds, so that the other notices if this machine or the network is gone.
 */
final class MachineLink implements Closeable {
    private static final int MAX_STRING_CHARACTERS = 64 << 20; // a sample in Base64
    private static final ObjectMapper JSON = new ObjectMapper(JsonFactory.builder()
            .streamReadConstraints(StreamReadConstraints.builder().maxStringLength(MAX_STRING_CHARACTERS).build())
            .build());
    private static final int ALIVE_EVERY_S = 3;
    private static final int SILENT_AFTER_S = 15;

    private final SSLSocket socket;
    private final BufferedReader reader;
    private final OutputStream out;
    private final ScheduledExecutorService timer = Executors.newSingleThreadScheduledExecutor(MachineLink::daemon);

    /** Shake hands within this time; both ends must have the same certificate and its key. */
    MachineLink(SSLSocket socket, int handshakeSeconds) throws IOException {
        this.socket = socket;
        AtomicBoolean late = new AtomicBoolean();
        Future<?> tooSlow = timer.schedule(() -> {
            late.set(true);
            close();
        }, handshakeSeconds, TimeUnit.SECONDS);
        try {
            socket.setTcpNoDelay(true);
            socket.startHandshake();
            socket.setSoTimeout(1_000 * SILENT_AFTER_S);
            reader = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
            out = socket.getOutputStream();
        } catch (IOException error) {
            close();
            throw late.get() ? tooLate(handshakeSeconds) : error;
        }
        tooSlow.cancel(false);
        if (late.get()) {
            throw tooLate(handshakeSeconds);
        }
        timer.scheduleAtFixedRate(this::sayAlive, ALIVE_EVERY_S, ALIVE_EVERY_S, TimeUnit.SECONDS);
    }

    private static IOException tooLate(int handshakeSeconds) {
        return new IOException("no TLS handshake within " + handshakeSeconds + " s");
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work, "machine link");
        thread.setDaemon(true);
        return thread;
    }

    private void sayAlive() {
        try {
            send(JSON.createObjectNode());
        } catch (IOException gone) {
            timer.shutdown(); // who reads will notice
        }
    }

    synchronized void send(JsonNode message) throws IOException {
        out.write((JSON.writeValueAsString(message) + "\n").getBytes(StandardCharsets.UTF_8));
        out.flush();
    }

    /** Return the next message, however long it takes; throw if the other end has ended or is silent. */
    JsonNode read() throws IOException {
        JsonNode message = next();
        while (message.isEmpty()) {
            message = next();
        }
        return message;
    }

    /** Return the next object within a few seconds; it is empty if the other end has nothing to say. */
    JsonNode next() throws IOException {
        String line;
        try {
            line = reader.readLine();
        } catch (SocketTimeoutException error) {
            throw new IOException("silent for " + SILENT_AFTER_S + " s", error);
        }
        if (line == null) {
            throw new EOFException("the connection has ended");
        }
        return JSON.readTree(line);
    }

    @Override
    public void close() {
        timer.shutdownNow();
        try {
            socket.setSoTimeout(0); // else close() waits that long for a last byte
            socket.close();
        } catch (IOException closed) {
            // it is closed, which is all that matters
        }
    }
}
