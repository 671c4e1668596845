package io.kafkapareto.example;

import java.util.ArrayList;
import java.util.concurrent.Future;
import org.springframework.boot.ApplicationRunner;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.context.annotation.Bean;
import org.springframework.kafka.core.KafkaTemplate;

/** Sends 1,000 records with the active settings, which {@code application.yaml} imports. */
@SpringBootApplication
public class Example {
    public static void main(String[] arguments) {
        SpringApplication.run(Example.class, arguments).close();
    }

    @Bean
    ApplicationRunner sends(KafkaTemplate<String, byte[]> kafka) {
        return arguments -> {
            var sent = new ArrayList<Future<?>>();
            for (int record = 0; record < 1000; record++) {
                sent.add(kafka.send(arguments.getOptionValues("topic").get(0), new byte[100]));
            }
            for (var each : sent) {
                each.get();  // throws if the record was lost
            }
        };
    }
}
