package io.kafkapareto.ingest;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.util.Locale;
import java.util.Spliterator;
import java.util.Spliterators;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Semaphore;
import java.util.function.Consumer;
import java.util.stream.StreamSupport;

/**
 * The threads that check, encode and send rows; one thread reads them.
 *
 * @param kind the kind of threads
 * @param width number of threads or of parallel tasks; 0 if the kind determines it
 */
record Senders(Kind kind, int width) {
    /** The kinds of threads; the first uses only the reader's own. */
    enum Kind { SEQUENTIAL, PARALLEL_STREAM, FORK_JOIN, PLATFORM_THREADS, VIRTUAL_THREADS }

    private static final String NAMES =
            "sequential|parallel_stream|(fork_join|platform_threads|virtual_threads)_[1-9][0-9]{0,4}";

    /** One row on its way to another thread. */
    record Row(byte[] bytes, long offset, long line) {}

    /**
     * Read a name like {@code fork_join_4}.
     *
     * @throws Refused if the name is unknown, has an unexpected number, or lacks one
     */
    static Senders of(String name) throws Refused {
        if (!name.matches(NAMES)) {
            throw new Refused("--senders " + name + ": must be sequential, parallel_stream, fork_join_N, "
                    + "platform_threads_N or virtual_threads_N");
        }
        String kind = name.replaceAll("_[0-9]+$", "");
        String width = name.substring(kind.length()).replace("_", "");
        return new Senders(Kind.valueOf(kind.toUpperCase(Locale.ROOT)), width.isEmpty() ? 0 : Integer.parseInt(width));
    }

    boolean isSequential() {
        return kind == Kind.SEQUENTIAL;
    }

    /** Return whether the threads have ended once all rows are sent. */
    boolean endThreads() {
        return kind == Kind.FORK_JOIN || kind == Kind.PLATFORM_THREADS || kind == Kind.VIRTUAL_THREADS;
    }

    /** Pass each row to one of the threads, and return when all are done. */
    void forEach(RowSource rows, Consumer<Row> each) throws IOException, InterruptedException {
        try {
            switch (kind) {
                case SEQUENTIAL -> spliterator(rows).forEachRemaining(each);
                case PARALLEL_STREAM -> StreamSupport.stream(spliterator(rows), true).forEach(each);
                case FORK_JOIN -> inPool(new ForkJoinPool(width), rows, each);
                case PLATFORM_THREADS -> inTasks(Executors.newFixedThreadPool(width), rows, each);
                case VIRTUAL_THREADS -> inTasks(virtualThreads(), rows, each);
                default -> throw new IllegalStateException(kind.name());
            }
        } catch (UncheckedIOException error) {
            throw error.getCause();
        }
    }

    private static void inPool(ForkJoinPool pool, RowSource rows, Consumer<Row> each) throws InterruptedException {
        try {
            pool.submit(() -> StreamSupport.stream(spliterator(rows), true).forEach(each)).get();
        } catch (ExecutionException error) {
            throw unchecked(error.getCause());
        } finally {
            pool.shutdownNow();
        }
    }

    /** Run a task for each row, {@code width} of them at a time: the reader waits for a permit. */
    private void inTasks(ExecutorService threads, RowSource rows, Consumer<Row> each) throws InterruptedException {
        Semaphore permits = new Semaphore(width);
        try {
            spliterator(rows).forEachRemaining(row -> {
                permits.acquireUninterruptibly();
                threads.execute(() -> {
                    try {
                        each.accept(row);
                    } finally {
                        permits.release();
                    }
                });
            });
            permits.acquire(width);
        } finally {
            threads.shutdownNow();
        }
    }

    /** Return threads of Java 21 and later by reflection; this code is compiled for an older version. */
    private static ExecutorService virtualThreads() {
        try {
            return (ExecutorService) Executors.class.getMethod("newVirtualThreadPerTaskExecutor").invoke(null);
        } catch (NoSuchMethodException error) {
            throw new IllegalStateException("virtual threads need Java 21 or later", error);
        } catch (IllegalAccessException | InvocationTargetException error) {
            throw new IllegalStateException(error);
        }
    }

    private static Spliterator<Row> spliterator(RowSource rows) {
        return new Spliterators.AbstractSpliterator<>(Long.MAX_VALUE, Spliterator.ORDERED | Spliterator.NONNULL) {
            @Override
            public boolean tryAdvance(Consumer<? super Row> taken) {
                try {
                    if (!rows.next()) {
                        return false;
                    }
                } catch (IOException error) {
                    throw new UncheckedIOException(error);
                }
                taken.accept(new Row(rows.copy(), rows.offset(), rows.line()));
                return true;
            }
        };
    }

    private static RuntimeException unchecked(Throwable error) {
        return error instanceof RuntimeException unchecked ? unchecked : new IllegalStateException(error);
    }
}
