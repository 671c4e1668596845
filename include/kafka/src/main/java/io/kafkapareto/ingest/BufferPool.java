package io.kafkapareto.ingest;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;

/**
 * Lend a limited number of off-heap buffers. The last one returned is lent first, because it is still in the cache.
 * Callers wait if none is free.
 */
final class BufferPool {
    private final ArrayDeque<ByteBuffer> free = new ArrayDeque<>();
    private final int bufferBytes;
    private int left;
    private long blockedNs;
    private boolean closed;

    /** Lend buffers with a total of {@code mostBytes}, but at least two. */
    BufferPool(int bufferBytes, long mostBytes) {
        this.bufferBytes = bufferBytes;
        left = (int) Math.max(2, Math.min(mostBytes / bufferBytes, Integer.MAX_VALUE));
    }

    /** Return an empty buffer, or null if the pool was closed meanwhile. */
    synchronized ByteBuffer take() throws InterruptedException {
        if (free.isEmpty() && left > 0) {
            left--;
            return ByteBuffer.allocateDirect(bufferBytes);
        }
        long beganNs = System.nanoTime();
        while (free.isEmpty() && !closed) {
            wait();
        }
        blockedNs += System.nanoTime() - beganNs;
        return closed ? null : free.pop().clear();
    }

    synchronized void giveBack(ByteBuffer buffer) {
        free.push(buffer);
        notifyAll();
    }

    /** End all waiting. */
    synchronized void close() {
        closed = true;
        notifyAll();
    }

    /** Return how long threads have waited for a buffer. */
    synchronized long blockedNs() {
        return blockedNs;
    }
}
