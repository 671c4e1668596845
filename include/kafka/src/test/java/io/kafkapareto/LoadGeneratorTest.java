package io.kafkapareto;

import static io.kafkapareto.SimulatedClock.MS;
import static io.kafkapareto.SimulatedClock.S;
import static org.junit.jupiter.api.Assertions.assertArrayEquals;
import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.IOException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Iterator;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import java.util.stream.IntStream;
import java.util.stream.LongStream;
import java.util.stream.Stream;
import net.sourceforge.argparse4j.inf.ArgumentParserException;
import net.sourceforge.argparse4j.inf.Namespace;
import org.apache.kafka.clients.producer.Callback;
import org.apache.kafka.clients.producer.MockProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.errors.RecordTooLargeException;
import org.apache.kafka.common.errors.TimeoutException;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests the parts of a load in simulated time: 15 minutes take no real time, and nothing disturbs them. */
class LoadGeneratorTest {
    private final SimulatedClock clock = new SimulatedClock();
    private final long startedNs = clock.nanoTime();
    private final List<PacedProducer> used = new ArrayList<>();

    /** Send a load with these options, the n-th part by the n-th producer. */
    private JsonNode load(List<PacedProducer> producers, String options) throws Exception {
        return loadAndSettle(producers, limit -> true, options).get("parts");
    }

    private JsonNode loadAndSettle(
            List<PacedProducer> producers, Predicate<Duration> writeBack, String options) throws Exception {
        var generator = new LoadGenerator("load", payloads(), () -> {
            used.add(producers.get(used.size()));
            return new JavaClient(used.get(used.size() - 1));
        }, clock, writeBack);
        return generator.load(parsed(options));
    }

    private JsonNode onlyPart(PacedProducer producer, String options) throws Exception {
        JsonNode parts = load(List.of(producer), options);
        assertEquals(1, parts.size());
        return parts.get(0);
    }

    private static Namespace parsed(String options) throws ArgumentParserException {
        String all = "--topic load --record-size 10 --command-config none " + options;
        return LoadGenerator.parser().parseArgs(all.split(" "));
    }

    private static Payloads payloads() throws IOException {
        return new Payloads(null, 10, 2);
    }

    private long[] calledMs(PacedProducer producer) {
        return producer.calledNs.stream().mapToLong(calledNs -> (calledNs - startedNs) / MS).toArray();
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void thePacedPartBeginsWhenWhatTheFirstHasLeftIsWrittenOrTheTimeForThatIsUp(boolean settled) throws Exception {
        PacedProducer first = new PacedProducer(clock, index -> 10 * MS);
        PacedProducer second = new PacedProducer(clock, index -> MS);
        long[] askedNs = new long[1];
        JsonNode result = loadAndSettle(List.of(first, second), limit -> {
            assertEquals(Duration.ofMillis(1_500), limit);
            askedNs[0] = clock.nanoTime();
            clock.waitUntil(askedNs[0] + S);
            return settled;
        }, "--seconds 1 --settle-seconds 1.5 --paced-seconds 1 --paced-rate 100");

        assertTrue(first.calledNs.get(first.calledNs.size() - 1) < askedNs[0]);
        assertTrue(second.calledNs.get(0) >= askedNs[0] + S);
        assertEquals(settled, result.get("write_back").get("settled").asBoolean());
        assertEquals(1.0, result.get("write_back").get("waited_s").asDouble(), 1e-6);
    }

    @ParameterizedTest
    @CsvSource({"--seconds 1 --settle-seconds 1", "--paced-seconds 1 --paced-rate 100 --settle-seconds 1",
        "--seconds 1 --paced-seconds 1 --paced-rate 100"})
    void nothingIsWaitedForWithoutTwoPartsOrUnasked(String options) throws Exception {
        List<PacedProducer> producers = List.of(
                new PacedProducer(clock, index -> 10 * MS), new PacedProducer(clock, index -> MS));
        JsonNode result = loadAndSettle(producers, limit -> {
            throw new AssertionError("nobody asked");
        }, options);

        assertFalse(result.has("write_back"));
    }

    @Test
    void pacedRecordsGoOutAtTheirSlotsAndNoSooner() throws Exception {
        PacedProducer producer = new PacedProducer(clock, index -> 3 * MS);
        JsonNode part = onlyPart(producer, "--paced-seconds 2 --paced-rate 100");

        assertArrayEquals(LongStream.range(0, 200).map(index -> 10 * index).toArray(), calledMs(producer));
        assertEquals("paced", part.get("part").asText());
        assertEquals(200, part.get("planned").asLong());
        assertEquals(200, part.get("attempted").asLong());
        assertEquals(200, part.get("acknowledged").asLong());
        assertEquals(1.993, part.get("sending_s").asDouble(), 1e-9);
        assertEquals(3_000, part.get("latency_us").get("p50").asDouble(), 3);
        assertEquals(3_000, part.get("latency_us").get("max").asDouble(), 3);
    }

    @Test
    void aSynchronousSenderWaitsForEachAnswerAndFallsBehindIfTheyTakeTooLong() throws Exception {
        AtomicInteger unanswered = new AtomicInteger();
        AtomicInteger most = new AtomicInteger();
        ExecutorService broker = Executors.newSingleThreadExecutor();
        var answeringLater = new MockProducer<byte[], byte[]>(
                false, null, new ByteArraySerializer(), new ByteArraySerializer()) {
            @Override
            public synchronized Future<RecordMetadata> send(
                    ProducerRecord<byte[], byte[]> sent, Callback callback) {
                most.accumulateAndGet(unanswered.incrementAndGet(), Math::max);
                Future<RecordMetadata> answer = super.send(sent, callback);
                broker.submit(() -> {
                    Thread.sleep(2);
                    unanswered.decrementAndGet();
                    return completeNext();
                });
                return answer;
            }
        };
        JsonNode part = loadBySeveral(
                List.of(answeringLater), "--synchronous --paced-seconds 0.2 --paced-rate 1000");
        broker.shutdownNow();

        assertEquals(1, most.get());
        assertTrue(part.get("answer_wait_s").asDouble() > 0.2);
        double fromDueUs = part.get("latency_us").get("p90").asDouble();
        assertTrue(fromDueUs > 10 * part.get("latency_from_send_us").get("p90").asDouble());
    }

    @Test
    void recordsArriveAtRandomIfAskedAndAtTheSameRate() throws Exception {
        PacedProducer producer = new PacedProducer(clock, index -> 0);
        JsonNode part = onlyPart(producer, "--paced-seconds 20 --paced-rate 100 --arrival poisson");
        long[] atMs = calledMs(producer);
        double squaresOfGaps = IntStream.range(1, 2_000).mapToDouble(at -> Math.pow(atMs[at] - atMs[at - 1], 2)).sum();

        assertEquals(2_000, part.get("acknowledged").asLong());
        assertEquals(20_000, atMs[1_999], 100);
        assertEquals(2, squaresOfGaps / 2_000 / 100, 0.3); // in squares of the mean gap, 10 ms; 1 at equal intervals
    }

    @Test
    void aBlockedSendMovesNoSlotAndItsBacklogGoesOutAtOnce() throws Exception {
        PacedProducer producer = new PacedProducer(clock, index -> index == 100 ? S : 0);
        onlyPart(producer, "--paced-seconds 4 --paced-rate 100");

        assertArrayEquals(
                LongStream.range(0, 400).map(index -> 10 * index)
                        .map(slot -> slot > 1_000 && slot < 2_000 ? 2_000 : slot).toArray(),
                calledMs(producer));
    }

    /** Coordinated omission: one blocked send delays a hundred records, and only one of them is in send(). */
    @Test
    void latencyCountsFromTheSlotSoThatABlockedSendIsSeenInAllRecordsItHeldUp() throws Exception {
        PacedProducer producer = new PacedProducer(clock, index -> index == 100 ? S : 0);
        JsonNode part = onlyPart(producer, "--paced-seconds 4 --paced-rate 100");

        JsonNode fromDue = part.get("latency_us");
        assertEquals(1_000_000, fromDue.get("max").asDouble(), 1_000);
        assertEquals(800_000, fromDue.get("p95").asDouble(), 1_000); // 20 of 400 waited longer
        assertEquals(600_000, fromDue.get("p90").asDouble(), 1_000);
        assertEquals(0, fromDue.get("p75").asDouble());
        assertEquals(1_010_000 / 2 * 100 / 400.0, fromDue.get("mean").asDouble(), 200);
        JsonNode fromSend = part.get("latency_from_send_us");
        assertEquals(0, fromSend.get("p99").asDouble());
        assertEquals(1_000_000, fromSend.get("p999").asDouble(), 1_000);
    }

    @Test
    void aBacklogThatGrowsTooLongIsGivenUpAndWhatWasLeftCanBeCounted() throws Exception {
        JsonNode part = onlyPart(new PacedProducer(clock, index -> 50 * MS), "--paced-seconds 1 --paced-rate 100");

        assertEquals(100, part.get("planned").asLong());
        assertEquals(60, part.get("attempted").asLong()); // three seconds, 50 ms each
        assertEquals(3.0, part.get("sending_s").asDouble(), 1e-9);
        assertTrue(part.get("failures").isEmpty());
    }

    @Test
    void withoutACeilingRecordsGoOutAsFastAsSendReturnsForTheTimeGiven() throws Exception {
        PacedProducer producer = new PacedProducer(clock, index -> 2 * MS);
        JsonNode part = onlyPart(producer, "--seconds 1");

        assertArrayEquals(LongStream.range(0, 500).map(index -> 2 * index).toArray(), calledMs(producer));
        assertEquals("unthrottled", part.get("part").asText());
        assertEquals(500, part.get("attempted").asLong());
        assertEquals(500, part.get("planned").asLong());
    }

    @Test
    void theCeilingHoldsRecordsBackWithoutGivingThemADueTime() throws Exception {
        PacedProducer producer = new PacedProducer(clock, index -> index == 50 ? 400 * MS : 0);
        JsonNode part = onlyPart(producer, "--seconds 1 --max-rate 100");

        long[] calledMs = calledMs(producer);
        for (int index = 0; index < calledMs.length; index++) {
            assertTrue(calledMs[index] >= 10 * index, "record " + index + " went out at " + calledMs[index] + " ms");
        }
        assertEquals(101, calledMs.length); // the last slot is the end itself
        assertEquals(part.get("latency_from_send_us"), part.get("latency_us"));
        assertEquals(0, part.get("latency_us").get("p95").asDouble()); // only one record of 101 was in send() for long
    }

    @Test
    void theWarmUpIsCountedApartAndGivesNoLatency() throws Exception {
        PacedProducer producer = new PacedProducer(clock, index -> index < 100 ? 9 * MS : MS);
        JsonNode part = onlyPart(producer, "--paced-warmup-seconds 1 --paced-seconds 2 --paced-rate 100");

        assertEquals(100, part.get("warmup_attempted").asLong());
        assertEquals(100, part.get("warmup_acknowledged").asLong());
        assertEquals(200, part.get("attempted").asLong());
        assertEquals(200, part.get("acknowledged").asLong());
        assertEquals(1_000, part.get("latency_us").get("max").asDouble(), 1);
        assertEquals(300, producer.history().size());
    }

    @Test
    void eachPartHasAProducerOfItsOwnThatIsClosedAfterIt() throws Exception {
        JsonNode parts = load(
                List.of(new PacedProducer(clock, index -> MS), new PacedProducer(clock)),
                "--seconds 1 --paced-seconds 1 --paced-rate 50");

        assertEquals(List.of("unthrottled", "paced"), parts.findValuesAsText("part"));
        assertEquals(List.of(1_000, 50), used.stream().map(producer -> producer.history().size()).toList());
        assertTrue(used.stream().allMatch(PacedProducer::closed));
    }

    @Test
    void aPartOfNoSecondsIsLeftOut() throws Exception {
        assertTrue(load(List.of(), "").isEmpty());
        assertEquals("paced", onlyPart(new PacedProducer(clock), "--paced-seconds 1").get("part").asText());
    }

    @Test
    void recordsGoToTheTopicWithTheKeysInTurn() throws Exception {
        PacedProducer producer = new PacedProducer(clock);
        onlyPart(producer, "--paced-seconds 1 --paced-rate 4");

        assertTrue(producer.history().stream().allMatch(record -> record.topic().equals("load")));
        assertEquals(
                List.of("key-0", "key-1", "key-0", "key-1"),
                producer.history().stream().map(record -> new String(record.key())).toList());
    }

    @Test
    void aSendThatThrowsEndsTheLoadAndLeavesOutTheNextPart() throws Exception {
        PacedProducer refusing = new PacedProducer(clock, index -> MS)
                .throwingAt(5, new RecordTooLargeException("too large"));
        JsonNode part = onlyPart(refusing, "--seconds 1 --paced-seconds 1");

        assertEquals(6, part.get("attempted").asLong());
        assertEquals(5, part.get("acknowledged").asLong());
        assertEquals("{\"RecordTooLargeException: too large\":1}", part.get("failures").toString());
        assertTrue(refusing.closed());
    }

    @Test
    void aRecordThatIsRefusedLaterEndsTheLoadAsWell() throws Exception {
        JsonNode part = onlyPart(
                new PacedProducer(clock).failingAt(5, new TimeoutException("expired")),
                "--paced-seconds 1 --paced-rate 100");

        assertEquals(6, part.get("attempted").asLong());
        assertEquals(5, part.get("acknowledged").asLong());
        assertEquals("{\"TimeoutException: expired\":1}", part.get("failures").toString());
    }

    @Test
    void aFailureInTheWarmUpLeavesNothingToMeasureAndIsToldOf() throws Exception {
        JsonNode part = onlyPart(
                new PacedProducer(clock).failingAt(5, new TimeoutException("expired")),
                "--paced-warmup-seconds 1 --paced-seconds 1 --paced-rate 100");

        assertEquals(6, part.get("warmup_attempted").asLong());
        assertEquals(5, part.get("warmup_acknowledged").asLong());
        assertEquals(0, part.get("attempted").asLong());
        assertEquals(100, part.get("planned").asLong());
        assertTrue(part.get("latency_us").isNull());
        assertEquals("{\"TimeoutException: expired\":1}", part.get("failures").toString());
    }

    /** Uses real time, because the threads of several producers cannot share a simulated clock. */
    private static JsonNode loadBySeveral(List<MockProducer<byte[], byte[]>> producers, String options)
            throws Exception {
        Iterator<MockProducer<byte[], byte[]>> unused = producers.iterator();
        var generator = new LoadGenerator(
                "load", payloads(), () -> new JavaClient(unused.next()), MonotonicClock.SYSTEM, limit -> true);
        return generator.load(parsed(options + " --producers " + producers.size())).get("parts").get(0);
    }

    private static MockProducer<byte[], byte[]> answeringAtOnce() {
        return new MockProducer<>(true, null, new ByteArraySerializer(), new ByteArraySerializer());
    }

    @Test
    void severalProducersShareTheRateAndAreCountedTogether() throws Exception {
        List<MockProducer<byte[], byte[]>> three = Stream.generate(LoadGeneratorTest::answeringAtOnce).limit(3).toList();
        JsonNode part = loadBySeveral(three, "--paced-warmup-seconds 0.1 --paced-seconds 0.2 --paced-rate 500");

        assertEquals(List.of(51, 50, 49), three.stream().map(each -> each.history().size()).toList());
        assertEquals(50, part.get("warmup_acknowledged").asLong());
        assertEquals(100, part.get("planned").asLong());
        assertEquals(100, part.get("attempted").asLong());
        assertEquals(100, part.get("acknowledged").asLong());
        assertTrue(part.get("sending_s").asDouble() >= 0.198, part::toString); // the slot of the last record
        assertTrue(three.stream().allMatch(MockProducer::closed));
    }

    /** One of several machines; the others' records fail if {@code failsElsewhere}. */
    private static LoadGroup machine(int place, int size, boolean failsElsewhere) {
        return new LoadGroup() {
            @Override
            int place() {
                return place;
            }

            @Override
            int size() {
                return size;
            }

            @Override
            void meet() {
                failed.compareAndSet(false, failsElsewhere);
            }
        };
    }

    @Test
    void theMachinesOfALoadSendDisjointSharesWhichMergeToTheWhole() throws Exception {
        List<LoadOutcome> outcomes = new ArrayList<>();
        for (int place = 0; place < 2; place++) {
            var generator = new LoadGenerator(
                    "load", payloads(), () -> new JavaClient(answeringAtOnce()), MonotonicClock.SYSTEM, limit -> true,
                    machine(place, 2, false));
            LoadOutcome own = generator.send(parsed("--producers 3 --paced-seconds 0.2 --paced-rate 500"));
            outcomes.add(LoadOutcome.ofJson(new ObjectMapper().readTree(own.toJson().toString())));
        }
        JsonNode whole = LoadOutcome.merged(outcomes).described();

        assertEquals(List.of(67L, 33L), outcomes.stream().map(each -> each.parts().get(0).planned()).toList());
        JsonNode part = whole.get("parts").get(0);
        assertEquals(100, part.get("planned").asLong());
        assertEquals(100, part.get("attempted").asLong());
        assertEquals(100, part.get("acknowledged").asLong());
        assertFalse(part.get("latency_us").isNull());
    }

    @Test
    void aFailureOnAnotherMachineSkipsTheSecondPart() throws Exception {
        var generator = new LoadGenerator(
                "load", payloads(), () -> new JavaClient(answeringAtOnce()), MonotonicClock.SYSTEM, limit -> true,
                machine(0, 2, true));
        LoadOutcome outcome = generator.send(
                parsed("--producers 2 --seconds 0.05 --paced-seconds 0.05 --paced-rate 500"));

        assertEquals(List.of("unthrottled"), outcome.parts().stream().map(PartOutcome::part).toList());
    }

    @Test
    void theStartsOfMachinesAreAsFarApartAsTheirDelaysAndTheErrorsOfTheirClocksAllow() {
        PartOutcome one = new PartOutcome(
                "paced", 0, 0, 0, 0, 0, 0, 0, MS, MS / 2, new LatencyStatistics(clock, new AtomicBoolean()), List.of());
        PartOutcome other = new PartOutcome(
                "paced", 0, 0, 0, 0, 0, 0, 0, 2 * MS, MS / 4, one.outcomes(), List.of());

        assertEquals(1.75, PartOutcome.startSpreadMs(List.of(one, other)), 1e-9);
        assertEquals(0, PartOutcome.startSpreadMs(List.of(one)));
    }

    @Test
    void severalProducersSendAsFastAsTheyGoForTheTimeGivenAndTheCpuTimeIsThatOfAllThreads() throws Exception {
        List<MockProducer<byte[], byte[]>> two = Stream.generate(LoadGeneratorTest::answeringAtOnce).limit(2).toList();
        JsonNode part = loadBySeveral(two, "--seconds 0.05");

        assertEquals(two.stream().mapToLong(each -> each.history().size()).sum(), part.get("attempted").asLong());
        assertTrue(two.stream().noneMatch(each -> each.history().isEmpty()));
        assertEquals(part.get("attempted"), part.get("acknowledged"));
        double cpuS = part.get("sending_cpu_s").asDouble();
        assertTrue(cpuS > 0 && cpuS <= 2.1 * part.get("sending_s").asDouble(), part::toString);
    }

    @Test
    void aFailureOfOneProducerEndsTheSendingOfAll() throws Exception {
        MockProducer<byte[], byte[]> refusing = answeringAtOnce();
        refusing.sendException = new RecordTooLargeException("too large");
        JsonNode part = loadBySeveral(List.of(answeringAtOnce(), refusing), "--paced-seconds 10 --paced-rate 50");

        assertTrue(part.get("attempted").asLong() < 500, part::toString);
        assertEquals("{\"RecordTooLargeException: too large\":1}", part.get("failures").toString());
    }
}
