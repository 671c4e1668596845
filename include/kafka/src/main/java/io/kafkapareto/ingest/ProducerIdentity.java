package io.kafkapareto.ingest;

import java.io.IOException;
import org.apache.kafka.clients.ClientRequest;
import org.apache.kafka.clients.NetworkClient;
import org.apache.kafka.clients.NetworkClientUtils;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.message.InitProducerIdRequestData;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.requests.InitProducerIdRequest;
import org.apache.kafka.common.requests.InitProducerIdResponse;
import org.apache.kafka.common.utils.Time;

/** The identity of an idempotent producer (KIP-98). */
record ProducerIdentity(long id, short epoch) {
    /** The identity of a producer that is not idempotent. */
    static final ProducerIdentity NONE =
            new ProducerIdentity(RecordBatch.NO_PRODUCER_ID, RecordBatch.NO_PRODUCER_EPOCH);
    private static final long POLL_MS = 100;

    /** Request a unique identity from the cluster. */
    static ProducerIdentity ask(NetworkClient client, Time time, int timeoutMs) throws IOException {
        long deadlineMs = time.milliseconds() + timeoutMs;
        InitProducerIdRequestData asked = new InitProducerIdRequestData()
                .setTransactionalId(null).setTransactionTimeoutMs(Integer.MAX_VALUE);
        String reason = "no broker responds";
        while (time.milliseconds() < deadlineMs) {
            try {
                Node node = client.leastLoadedNode(time.milliseconds()).node();
                if (node != null && NetworkClientUtils.awaitReady(client, node, time, timeoutMs)) {
                    ClientRequest request = client.newClientRequest(
                            node.idString(), new InitProducerIdRequest.Builder(asked), time.milliseconds(), true,
                            timeoutMs, null);
                    InitProducerIdResponse answer = (InitProducerIdResponse)
                            NetworkClientUtils.sendAndReceive(client, request, time).responseBody();
                    if (answer.error() == Errors.NONE) {
                        return new ProducerIdentity(answer.data().producerId(), answer.data().producerEpoch());
                    }
                    if (!(answer.error().exception() instanceof RetriableException)) {
                        throw answer.error().exception();
                    }
                    reason = answer.error().message();
                }
            } catch (IOException error) {  // the broker is down; another one may respond
                reason = error.getMessage();
            }
            client.poll(POLL_MS, time.milliseconds());
        }
        throw new IOException("no producer id was assigned within " + timeoutMs + " ms: " + reason);
    }

    boolean isIdempotent() {
        return id != RecordBatch.NO_PRODUCER_ID;
    }

    /** Return the producer's next epoch (KIP-360). A broker with a batch of this epoch refuses earlier epochs. */
    ProducerIdentity next() {
        return new ProducerIdentity(id, (short) (epoch + 1));
    }
}
