package io.kafkapareto.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;
import org.apache.camel.CamelContext;
import org.apache.camel.Exchange;
import org.apache.camel.impl.DefaultCamelContext;
import org.apache.camel.support.DefaultExchange;
import org.junit.jupiter.api.Test;

class AnswersInOrderTest {
    private final CamelContext camel = new DefaultCamelContext();
    private final AnswersInOrder answers = new AnswersInOrder();
    private final List<String> answered = new ArrayList<>();

    @Test
    void anAnswerWaitsForEarlierOnes() {
        Consumer<Exception> first = expect("first", new DefaultExchange(camel));
        Consumer<Exception> second = expect("second", new DefaultExchange(camel));
        Consumer<Exception> third = expect("third", new DefaultExchange(camel));

        third.accept(null);
        assertEquals(List.of(), answered);
        first.accept(null);
        assertEquals(List.of("first"), answered);
        second.accept(null);
        assertEquals(List.of("first", "second", "third"), answered);
    }

    @Test
    void aFailureIsSetOnItsOwnExchangeOnly() {
        Exchange lost = new DefaultExchange(camel);
        Exchange kept = new DefaultExchange(camel);
        Consumer<Exception> first = expect("lost", lost);
        Consumer<Exception> second = expect("kept", kept);
        Exception failure = new IllegalStateException("Kafka is unavailable");

        second.accept(null);
        first.accept(failure);

        assertEquals(List.of("lost", "kept"), answered);
        assertSame(failure, lost.getException());
        assertNull(kept.getException());
    }

    private Consumer<Exception> expect(String name, Exchange exchange) {
        return answers.expect(exchange, isSynchronous -> answered.add(name));
    }
}
