package io.kafkapareto.aggregator;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertNull;
import static org.junit.jupiter.api.Assertions.assertSame;

import java.util.ArrayList;
import java.util.List;
import org.apache.camel.CamelContext;
import org.apache.camel.Exchange;
import org.apache.camel.impl.DefaultCamelContext;
import org.apache.camel.support.DefaultExchange;
import org.junit.jupiter.api.Test;

/** Exchanges are answered in the order in which they came. */
class AnswersInOrderTest {
    private final CamelContext camel = new DefaultCamelContext();
    private final AnswersInOrder answers = new AnswersInOrder();
    private final List<String> answered = new ArrayList<>();

    @Test
    void anAnswerWaitsForThoseBeforeIt() {
        Event.Answer first = expect("first", new DefaultExchange(camel));
        Event.Answer second = expect("second", new DefaultExchange(camel));
        Event.Answer third = expect("third", new DefaultExchange(camel));

        third.give(null);
        assertEquals(List.of(), answered);
        first.give(null);
        assertEquals(List.of("first"), answered);
        second.give(null);
        assertEquals(List.of("first", "second", "third"), answered);
    }

    @Test
    void aFailureIsTheExchangesOwn() {
        Exchange lost = new DefaultExchange(camel);
        Exchange kept = new DefaultExchange(camel);
        Event.Answer first = expect("lost", lost);
        Event.Answer second = expect("kept", kept);
        Exception failure = new IllegalStateException("Kafka is away");

        second.give(null);
        first.give(failure);

        assertEquals(List.of("lost", "kept"), answered);
        assertSame(failure, lost.getException());
        assertNull(kept.getException());
    }

    private Event.Answer expect(String name, Exchange exchange) {
        return answers.expect(exchange, isSynchronous -> answered.add(name));
    }
}
