import java.io.FileReader;
import java.util.ArrayList;
import java.util.Properties;
import java.util.concurrent.Future;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Sends 1,000 records with the active settings: {@code java -cp 'jars/*' Example.java FILE SERVERS TOPIC}. */
public class Example {
    public static void main(String[] arguments) throws Exception {
        String file = arguments[0], servers = arguments[1], topic = arguments[2];

        var settings = new Properties();
        try (var reader = new FileReader(file)) {
            settings.load(reader);
        }

        settings.put("bootstrap.servers", servers);
        try (var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            var sent = new ArrayList<Future<?>>();
            for (int record = 0; record < 1000; record++) {
                sent.add(producer.send(new ProducerRecord<>(topic, new byte[100])));
            }
            for (var each : sent) {
                each.get();  // throws if the record was lost
            }
        }
    }
}
