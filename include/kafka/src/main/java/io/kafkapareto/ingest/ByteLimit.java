package io.kafkapareto.ingest;

import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;

/** Holds back whoever would send more bytes a second than a limit allows. */
final class ByteLimit {
    private static final int CHECK_EVERY_BYTES = 64 << 10;

    private final double nsPerByte;
    private final long beganNs = System.nanoTime();
    private final AtomicLong bytes = new AtomicLong();

    /** With 0 there is no limit. */
    ByteLimit(double mostMibPerSecond) {
        nsPerByte = mostMibPerSecond > 0 ? 1e9 / (mostMibPerSecond * (1 << 20)) : 0;
    }

    /** Returns once so many bytes more may be sent. */
    void awaitRoomFor(int more) {
        if (nsPerByte == 0) {
            return;
        }
        long before = bytes.getAndAdd(more);
        if (before / CHECK_EVERY_BYTES == (before + more) / CHECK_EVERY_BYTES) {
            return;
        }
        long dueNs = beganNs + (long) (nsPerByte * before);
        for (long left = dueNs - System.nanoTime(); left > 0; left = dueNs - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }
}
