package io.kafkapareto.ingest;

import com.fasterxml.jackson.databind.node.ObjectNode;
import com.sun.management.OperatingSystemMXBean;
import com.sun.management.ThreadMXBean;
import java.lang.management.CompilationMXBean;
import java.lang.management.GarbageCollectorMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.util.Arrays;

/**
 * Resources that this process has used so far.
 *
 * @param allocatedBytes of all threads; below Java 21 only of live ones
 */
record JvmUse(
        long atNs, long atEpochMs, long cpuNs, long allocatedBytes, long collections, long collectionMs,
        long compilationMs) {
    private static final double NS_PER_S = 1e9;
    private static final double MS_PER_S = 1e3;
    private static final Method ALL_ALLOCATED = allAllocated();

    static JvmUse now() {
        var system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        var threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
        var collectors = ManagementFactory.getGarbageCollectorMXBeans();
        return new JvmUse(
                System.nanoTime(),
                System.currentTimeMillis(),
                system.getProcessCpuTime(),
                allocatedBytes(threads),
                collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionCount).sum(),
                collectors.stream().mapToLong(GarbageCollectorMXBean::getCollectionTime).sum(),
                totalCompilationMs());
    }

    /** Return whether ended threads are counted, too. */
    static boolean countsEndedThreads() {
        return ALL_ALLOCATED != null;
    }

    /** Return the method of Java 21 and later, or null; this code is compiled for an older version. */
    private static Method allAllocated() {
        try {
            return ThreadMXBean.class.getMethod("getTotalThreadAllocatedBytes");
        } catch (NoSuchMethodException error) {
            return null;
        }
    }

    private static long allocatedBytes(ThreadMXBean threads) {
        if (ALL_ALLOCATED == null) {
            return Arrays.stream(threads.getThreadAllocatedBytes(threads.getAllThreadIds()))
                    .filter(each -> each > 0).sum();
        }
        try {
            return (long) ALL_ALLOCATED.invoke(threads);
        } catch (IllegalAccessException | InvocationTargetException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Return the compilation time; 0 for a JVM without a compiler. */
    private static long totalCompilationMs() {
        CompilationMXBean compiler = ManagementFactory.getCompilationMXBean();
        return compiler == null ? 0 : compiler.getTotalCompilationTime();
    }

    /** Write the use between the two. */
    static void describe(JvmUse before, JvmUse after, ObjectNode described) {
        long jvmStartedMs = ManagementFactory.getRuntimeMXBean().getStartTime();
        described.put("began_at_s", before.atEpochMs / MS_PER_S)
                .put("ended_at_s", after.atEpochMs / MS_PER_S)
                .put("elapsed_s", (after.atNs - before.atNs) / NS_PER_S)
                .put("jvm_start_s", (before.atEpochMs - jvmStartedMs) / MS_PER_S)
                .put("cpu_s", (after.cpuNs - before.cpuNs) / NS_PER_S)
                .put("allocated_bytes", after.allocatedBytes - before.allocatedBytes)
                .put("collections", after.collections - before.collections)
                .put("collection_s", (after.collectionMs - before.collectionMs) / MS_PER_S)
                .put("compilation_s", (after.compilationMs - before.compilationMs) / MS_PER_S);
    }
}
