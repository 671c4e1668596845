package io.kafkapareto;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.Base64;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

/** The load machines' common key and certificate: each end presents it, and trusts only it. */
final class MachineCredentials {
    private static final char[] NO_PASSWORD = {};

    private MachineCredentials() {}

    /** Read a PEM file with an unencrypted EC key and its self-signed certificate. */
    static SSLContext read(String file) throws IOException, GeneralSecurityException {
        String pem = Files.readString(Path.of(file));
        PrivateKey key = KeyFactory.getInstance("EC")
                .generatePrivate(new PKCS8EncodedKeySpec(block(pem, "PRIVATE KEY", file)));
        Certificate certificate = CertificateFactory.getInstance("X.509")
                .generateCertificate(new ByteArrayInputStream(block(pem, "CERTIFICATE", file)));
        KeyStore own = emptyStore();
        own.setKeyEntry("load-machine", key, NO_PASSWORD, new Certificate[] {certificate});
        KeyStore trusted = emptyStore();
        trusted.setCertificateEntry("load-machine", certificate);
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(own, NO_PASSWORD);
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        SSLContext context = SSLContext.getInstance("TLSv1.3");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    private static KeyStore emptyStore() throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, NO_PASSWORD);
        return store;
    }

    private static byte[] block(String pem, String kind, String file) throws IOException {
        String begin = "-----BEGIN " + kind + "-----";
        int from = pem.indexOf(begin);
        int until = pem.indexOf("-----END " + kind + "-----");
        if (from < 0 || until < from) {
            throw new IOException(file + ": has no " + kind);
        }
        return Base64.getMimeDecoder().decode(pem.substring(from + begin.length(), until));
    }
}
