package io.kafkapareto;

import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import javax.security.auth.login.AppConfigurationEntry;
import org.apache.kafka.clients.admin.AdminClientConfig;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.config.AbstractConfig;
import org.apache.kafka.common.config.ConfigDef;
import org.apache.kafka.common.config.SaslConfigs;
import org.apache.kafka.common.config.SslConfigs;
import org.apache.kafka.common.config.types.Password;
import org.apache.kafka.common.security.JaasContext;
import org.apache.kafka.common.security.ssl.DefaultSslEngineFactory;

/** Translates the connection settings of a Java client's properties file to librdkafka's. */
final class LibrdkafkaSecurity {
    private static final Set<String> MECHANISMS = Set.of("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512");
    /** Settings that librdkafka has in another form, or not at all; without them it would connect in another way. */
    private static final Set<String> WITHOUT_COUNTERPART = Set.of(
            SslConfigs.SSL_CIPHER_SUITES_CONFIG, SslConfigs.SSL_ENABLED_PROTOCOLS_CONFIG,
            SslConfigs.SSL_ENGINE_FACTORY_CLASS_CONFIG, SslConfigs.SSL_PROTOCOL_CONFIG, "security.providers",
            SaslConfigs.SASL_CLIENT_CALLBACK_HANDLER_CLASS, SaslConfigs.SASL_LOGIN_CALLBACK_HANDLER_CLASS,
            SaslConfigs.SASL_LOGIN_CLASS);
    /** Settings of connections that only Java's client has, besides those of TLS and SASL. */
    private static final Set<String> OF_JAVA = AdminClientConfig.configNames();
    private static final Set<String> OF_BOTH = Set.of(
            "bootstrap.servers", "client.id", "client.dns.lookup", "client.rack", "connections.max.idle.ms",
            "metadata.max.age.ms", "reconnect.backoff.max.ms", "reconnect.backoff.ms", "request.timeout.ms", "retries",
            "retry.backoff.max.ms", "retry.backoff.ms", "security.protocol");
    private static final Base64.Encoder PEM = Base64.getMimeEncoder(64, new byte[] {'\n'});

    private LibrdkafkaSecurity() {}

    /**
     * Return the properties with those of TLS and SASL in librdkafka's form, without those of Java's connections.
     *
     * @throws IllegalArgumentException if librdkafka lacks a setting or the SASL mechanism, or a store cannot be read
     */
    static Map<String, String> translated(Properties properties) {
        Map<String, String> found = new LinkedHashMap<>();
        for (String name : properties.stringPropertyNames()) {
            if (WITHOUT_COUNTERPART.contains(name)) {
                throw new IllegalArgumentException(name + ": has no equivalent in librdkafka");
            }
            if (!OF_JAVA.contains(name) || OF_BOTH.contains(name)) {
                found.put(name, properties.getProperty(name));
            }
        }
        String protocol = properties.getProperty("security.protocol", "PLAINTEXT").toUpperCase(Locale.ROOT);
        if (protocol.startsWith("SASL")) {
            addSasl(properties, found);
        }
        if (protocol.endsWith("SSL")) {
            addTls(properties, found);
        }
        return found;
    }

    private static void addSasl(Properties properties, Map<String, String> found) {
        String mechanism = properties.getProperty(SaslConfigs.SASL_MECHANISM, "GSSAPI");
        if (!MECHANISMS.contains(mechanism)) {
            throw new IllegalArgumentException(
                    "sasl.mechanism " + mechanism + ": with librdkafka it must be one of "
                            + String.join(", ", MECHANISMS.stream().sorted().toList()));
        }
        String jaas = properties.getProperty(SaslConfigs.SASL_JAAS_CONFIG);
        if (jaas == null) {
            throw new IllegalArgumentException("sasl.jaas.config is missing: it has the user's name and password");
        }
        AppConfigurationEntry entry = JaasContext
                .loadClientContext(Map.of(SaslConfigs.SASL_JAAS_CONFIG, new Password(jaas)))
                .configurationEntries().get(0);
        if ("true".equals(entry.getOptions().get("tokenauth"))) {
            throw new IllegalArgumentException("sasl.jaas.config: tokenauth=true: librdkafka has no delegation tokens");
        }
        found.put("sasl.mechanism", mechanism);
        found.put("sasl.username", option(entry, "username"));
        found.put("sasl.password", option(entry, "password"));
    }

    private static String option(AppConfigurationEntry entry, String name) {
        if (entry.getOptions().get(name) instanceof String value) {
            return value;
        }
        throw new IllegalArgumentException("sasl.jaas.config has no " + name);
    }

    private static void addTls(Properties properties, Map<String, String> found) {
        String checked = properties.getProperty(SslConfigs.SSL_ENDPOINT_IDENTIFICATION_ALGORITHM_CONFIG, "https");
        found.put("ssl.endpoint.identification.algorithm", checked.isBlank() ? "none" : checked);
        try (DefaultSslEngineFactory stores = new DefaultSslEngineFactory()) {
            Map<String, ?> values =
                    new AbstractConfig(new ConfigDef().withClientSslSupport(), properties, false).values();
            stores.configure(values);
            found.put("ssl.ca.pem", certificates(stores.truststore()));
            if (stores.keystore() != null) {
                addKey(stores.keystore(), keyPassword(values), found);
            }
        } catch (GeneralSecurityException error) {
            throw new IllegalArgumentException("a key or trust store cannot be read: " + error.getMessage(), error);
        } catch (KafkaException error) {
            throw new IllegalArgumentException(ClusterAdmin.messagesOf(error), error);
        }
    }

    private static char[] keyPassword(Map<String, ?> values) {
        for (String name : List.of(SslConfigs.SSL_KEY_PASSWORD_CONFIG, SslConfigs.SSL_KEYSTORE_PASSWORD_CONFIG)) {
            if (values.get(name) instanceof Password password) {
                return password.value().toCharArray();
            }
        }
        return new char[0];
    }

    /** Return the certificates that Java would trust: the store's, or without one those of the JVM. */
    private static String certificates(KeyStore store) throws GeneralSecurityException {
        TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(store);
        StringBuilder found = new StringBuilder();
        for (TrustManager manager : factory.getTrustManagers()) {
            for (Certificate each : ((X509TrustManager) manager).getAcceptedIssuers()) {
                found.append(pem("CERTIFICATE", each.getEncoded()));
            }
        }
        if (found.isEmpty()) {
            throw new GeneralSecurityException("the trust store has no certificate");
        }
        return found.toString();
    }

    private static void addKey(KeyStore store, char[] password, Map<String, String> found)
            throws GeneralSecurityException {
        for (String alias : Collections.list(store.aliases())) {
            if (store.isKeyEntry(alias)) {
                Key key = store.getKey(alias, password);
                StringBuilder chain = new StringBuilder();
                for (Certificate each : store.getCertificateChain(alias)) {
                    chain.append(pem("CERTIFICATE", each.getEncoded()));
                }
                found.put("ssl.certificate.pem", chain.toString());
                found.put("ssl.key.pem", pem("PRIVATE KEY", key.getEncoded()));
                return;
            }
        }
    }

    private static String pem(String kind, byte[] content) {
        return "-----BEGIN " + kind + "-----\n" + PEM.encodeToString(content) + "\n-----END " + kind + "-----\n";
    }
}
