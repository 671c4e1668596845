package io.kafkapareto.aggregator;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.zip.DeflaterOutputStream;

/** Speaks the Beats protocol (Lumberjack v2) as Filebeat does: windows of JSON events, each window compressed. */
final class BeatsClient implements AutoCloseable {
    static final int NOTHING = 0;
    static final int CLOSED = -1;

    private final Socket socket;
    private final DataOutputStream out;
    private final DataInputStream in;

    BeatsClient(int port) throws IOException {
        socket = new Socket("127.0.0.1", port);
        out = new DataOutputStream(socket.getOutputStream());
        in = new DataInputStream(socket.getInputStream());
    }

    void send(List<String> events) throws IOException {
        ByteArrayOutputStream compressed = new ByteArrayOutputStream();
        try (DataOutputStream frames = new DataOutputStream(new DeflaterOutputStream(compressed))) {
            for (int number = 1; number <= events.size(); number++) {
                byte[] event = events.get(number - 1).getBytes(StandardCharsets.UTF_8);
                frames.writeBytes("2J");
                frames.writeInt(number);
                frames.writeInt(event.length);
                frames.write(event);
            }
        }
        out.writeBytes("2W");
        out.writeInt(events.size());
        out.writeBytes("2C");
        out.writeInt(compressed.size());
        compressed.writeTo(out);
        out.flush();
    }

    /** Returns the number of events that the next acknowledgement covers; NOTHING in time, or CLOSED. */
    int acknowledged(int withinMs) throws IOException {
        socket.setSoTimeout(withinMs);
        try {
            if (in.readUnsignedShort() != ('2' << 8 | 'A')) {
                throw new IOException("no acknowledgement");
            }
            return in.readInt();
        } catch (SocketTimeoutException late) {
            return NOTHING;
        } catch (EOFException | SocketException closed) {
            return CLOSED;
        }
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
