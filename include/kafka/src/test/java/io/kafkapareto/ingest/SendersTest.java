package io.kafkapareto.ingest;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.nio.charset.StandardCharsets;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledForJreRange;
import org.junit.jupiter.api.condition.JRE;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests that each row is sent once with every kind of threads. */
@Timeout(60)
class SendersTest {
    private static final int ROWS = 5_000;

    @TempDir
    private Path folder;

    @ParameterizedTest
    @ValueSource(strings = {"sequential", "parallel_stream", "fork_join_2", "platform_threads_3"})
    void eachRowIsHandedOverOnceBeforeItReturns(String name) throws Exception {
        Set<Long> offsets = ConcurrentHashMap.newKeySet();
        AtomicInteger handedOver = new AtomicInteger();
        try (RowSource rows = RowReader.MAPPED.open(FileRange.whole(file()), (byte) ',')) {
            Senders.of(name).forEach(rows, row -> {
                offsets.add(row.offset());
                handedOver.incrementAndGet();
            });
        }

        assertEquals(ROWS, handedOver.get());
        assertEquals(ROWS, offsets.size());
    }

    @Test
    void theReaderIsNoFurtherAheadThanThereArePermits() throws Exception {
        AtomicInteger taken = new AtomicInteger();
        AtomicInteger done = new AtomicInteger();
        AtomicInteger mostAhead = new AtomicInteger();
        try (RowSource rows = counted(RowReader.LINE.open(FileRange.whole(file()), (byte) ','), taken)) {
            Senders.of("platform_threads_3").forEach(rows, row -> {
                mostAhead.accumulateAndGet(taken.get() - done.get(), Math::max);
                LockSupport.parkNanos(10_000);  // slow tasks, which an unlimited reader would outrun
                done.incrementAndGet();
            });
        }

        assertEquals(ROWS, done.get());
        assertTrue(mostAhead.get() <= 3 + 1, mostAhead + " rows read and not sent: three run, and one waits");
    }

    /** Count the rows read. */
    private static RowSource counted(RowSource rows, AtomicInteger taken) {
        return (RowSource) Proxy.newProxyInstance(
                RowSource.class.getClassLoader(), new Class<?>[] {RowSource.class}, (proxy, method, arguments) -> {
                    Object result = method.invoke(rows, arguments);
                    taken.addAndGet(Boolean.TRUE.equals(result) && method.getName().equals("next") ? 1 : 0);
                    return result;
                });
    }

    @Test
    @EnabledForJreRange(max = JRE.JAVA_20)
    void virtualThreadsNeedALaterJavaAndSaySo() throws Exception {
        try (RowSource rows = RowReader.LINE.open(FileRange.whole(file()), (byte) ',')) {
            var refused = assertThrows(
                    IllegalStateException.class, () -> Senders.of("virtual_threads_100").forEach(rows, row -> { }));

            assertTrue(refused.getMessage().contains("Java 21"), refused.getMessage());
        }
    }

    private Path file() throws Exception {
        String text = IntStream.range(0, ROWS).mapToObj(row -> row + ",x").collect(Collectors.joining("\n"));
        return Files.write(folder.resolve("rows.csv"), text.getBytes(StandardCharsets.US_ASCII));
    }
}
