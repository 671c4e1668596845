package io.kafkapareto;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.util.Map;
import java.util.Properties;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Logins and refusals; key and trust stores are tested on a real broker. */
class LibrdkafkaSecurityTest {
    private static Map<String, String> translated(String... namesAndValues) {
        Properties properties = new Properties();
        for (int each = 0; each < namesAndValues.length; each += 2) {
            properties.setProperty(namesAndValues[each], namesAndValues[each + 1]);
        }
        return LibrdkafkaSecurity.translated(properties);
    }

    @Test
    void withoutSecurityEverythingStaysAsItIs() {
        assertEquals(
                Map.of("bootstrap.servers", "a:1", "linger.ms", "7"),
                translated("bootstrap.servers", "a:1", "linger.ms", "7"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"})
    void aLoginHasItsNameAndPasswordWhateverIsInThem(String mechanism) {
        String jaas = "a.LoginModule required username=\"u\" password=\"p;\\\"' \" ;";
        Map<String, String> found = translated(
                "security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", mechanism, "sasl.jaas.config", jaas);

        assertEquals("u", found.get("sasl.username"));
        assertEquals("p;\"' ", found.get("sasl.password"));
        assertEquals(mechanism, found.get("sasl.mechanism"));
        assertTrue(!found.containsKey("sasl.jaas.config"));
    }

    @Test
    void tlsWithoutStoresTrustsTheJvmsAuthoritiesAndChecksNamesUnlessToldOtherwise() {
        String trusted = translated("security.protocol", "SSL").get("ssl.ca.pem");
        assertTrue(trusted.startsWith("-----BEGIN CERTIFICATE-----\n"));
        assertEquals("https", translated("security.protocol", "SSL").get("ssl.endpoint.identification.algorithm"));
        String unchecked = "ssl.endpoint.identification.algorithm";
        assertEquals("none", translated("security.protocol", "SSL", unchecked, "").get(unchecked));
    }

    @Test
    void whatLibrdkafkaCannotDoIsNamed() {
        var kerberos = assertThrows(
                IllegalArgumentException.class, () -> translated("security.protocol", "SASL_SSL"));
        assertTrue(kerberos.getMessage().startsWith("sasl.mechanism GSSAPI: with librdkafka it must be one of PLAIN,"));
        var nameless = assertThrows(
                IllegalArgumentException.class,
                () -> translated("security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", "PLAIN"));
        assertTrue(nameless.getMessage().startsWith("sasl.jaas.config is missing"));
        var unnamed = assertThrows(
                IllegalArgumentException.class,
                () -> translated(
                        "security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", "SCRAM-SHA-256", "sasl.jaas.config",
                        "a.LoginModule required username=\"u\" password=\"p\" tokenauth=\"true\";"));
        assertEquals(
                "sasl.jaas.config: tokenauth=true: librdkafka has no delegation tokens", unnamed.getMessage());
        var ciphers = assertThrows(
                IllegalArgumentException.class, () -> translated("ssl.cipher.suites", "TLS_AES_128_GCM_SHA256"));
        assertEquals("ssl.cipher.suites: has no equivalent in librdkafka", ciphers.getMessage());
    }

    @Test
    void settingsOfJavasConnectionsAreLeftOutAndAllOthersStay() {
        assertEquals(
                Map.of("client.dns.lookup", "use_all_dns_ips", "batch.num.messages", "5"),
                translated(
                        "client.dns.lookup", "use_all_dns_ips", "default.api.timeout.ms", "1", "metric.reporters", "x",
                        "batch.num.messages", "5"));
    }
}
