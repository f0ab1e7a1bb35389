"""The stores and the api over HTTPS: certificates at start and while they run, and their handling by scripts/stack."""
import base64
import http.client
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "support"))
from receiver import make_certificates  # noqa: E402
from stack import (BIN, SOURCE, TOKEN, OwnStackTest, clean_environment, free_port_base, program, wait_until)  # noqa: E402

SERVERS = ("table_store", "queue_service", "blob_store", "api")


class TlsCase(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp(prefix="tm")
        self.addCleanup(shutil.rmtree, self.directory, ignore_errors=True)
        self.ca, self.leaf = self.make("first")

    def make(self, name):
        """Makes a new authority, and a certificate for localhost by it."""
        where = os.path.join(self.directory, name)
        os.mkdir(where)
        return make_certificates(where)

    def files(self):
        return ["--tls-certificate-file", self.leaf + ".pem", "--tls-key-file", self.leaf + ".key"]

    def install(self, leaf):
        """Replaces the files that the programs were started with."""
        for ending in (".pem", ".key"):
            shutil.copy(leaf + ending, self.leaf + ending)

    def connect(self, port, ca):
        context = ssl.create_default_context(cafile=ca)
        return context.wrap_socket(socket.create_connection(("127.0.0.1", port), timeout=60), server_hostname="localhost")

    @staticmethod
    def is_alive(connection):
        connection.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status == 200 and answer.read() is not None


class TlsTest(TlsCase, OwnStackTest):
    def test_every_public_port(self):
        for name in SERVERS:
            self.stack.start(name, *self.files())
            self.assertEqual(self.stack.children[name].ready["scheme"], "https", name)
        for name in SERVERS:
            with self.subTest(program=name), self.connect(self.stack.ports[name], self.ca) as connection:
                self.assertTrue(self.is_alive(connection))
                self.assertIn(connection.version(), ("TLSv1.2", "TLSv1.3"))
            plain = http.client.HTTPConnection("127.0.0.1", self.stack.ports[name], timeout=60)
            plain.request("GET", "/healthz")
            answer = plain.getresponse()
            self.assertEqual(answer.status, 400, name)
            self.assertIn(b"This port speaks HTTPS", answer.read())
            plain.close()
        done = subprocess.run([program("tidemark"), "--api", f"https://localhost:{self.stack.ports['api']}", "--ca-file",
                               self.ca, "--json", "job", "list"], capture_output=True, text=True, timeout=60,
                              env=clean_environment({"TIDEMARK_TOKEN": TOKEN}))
        self.assertEqual(done.returncode, 0, done.stderr)

    def test_a_new_certificate_while_connections_are_open(self):
        store = self.stack.start("table_store", *self.files())
        port = self.stack.ports["table_store"]
        with self.connect(port, self.ca) as before:
            self.assertTrue(self.is_alive(before))
            new_ca, new_leaf = self.make("second")
            self.install(new_leaf)
            store.signal(signal.SIGHUP)
            wait_until(lambda: "the TLS certificate was read again" in store.log(), "the new certificate")
            with self.connect(port, new_ca) as after:
                self.assertTrue(self.is_alive(after))
            with self.assertRaises(ssl.SSLCertVerificationError):
                self.connect(port, self.ca)
            self.assertTrue(self.is_alive(before), "an open connection goes on")
            # An unusable certificate changes nothing, and one line says so.
            with open(self.leaf + ".pem", "w") as file:
                file.write("garbage")
            store.signal(signal.SIGHUP)
            wait_until(lambda: "the TLS certificate is kept" in store.log(), "the refusal")
            line = [each for each in store.log().splitlines() if "the TLS certificate is kept" in each]
            self.assertEqual(len(line), 1)
            self.assertIn("tls_certificate_file: " + self.leaf + ".pem", line[0])
            with self.connect(port, new_ca) as still:
                self.assertTrue(self.is_alive(still))
        self.assertEqual(store.terminate(), 0)

    def test_sighup_without_anything_to_reload(self):
        store = self.stack.start("queue_service")
        store.signal(signal.SIGHUP)
        wait_until(lambda: "nothing to reload" in store.log() or "reloading files" in store.log(), "the signal")
        with socket.create_connection(("127.0.0.1", self.stack.ports["queue_service"]), timeout=60) as connection:
            self.assertTrue(self.is_alive(connection))
        self.assertEqual(store.terminate(), 0)

    def refuse(self, name, *arguments, says):
        ended = subprocess.run([program(name), "--data", self.stack.data, "--port", "0", *arguments],
                               capture_output=True, text=True, timeout=60, env=clean_environment())
        self.assertEqual((ended.returncode, ended.stdout), (2, ""), ended.stderr)
        errors = [line for line in ended.stderr.splitlines() if line.startswith("error: ")]
        self.assertEqual(len(errors), 1, ended.stderr)
        self.assertIn(says, errors[0])

    def test_files_that_cannot_be_used_at_start(self):
        expired = os.path.join(self.directory, "expired.pem")
        subprocess.run(["openssl", "x509", "-req", "-in", self.leaf + ".csr", "-signkey", self.leaf + ".key", "-days", "-1",
                        "-out", expired], check=True, capture_output=True)
        garbage = os.path.join(self.directory, "garbage")
        with open(garbage, "w") as file:
            file.write("-----BEGIN CERTIFICATE-----\nnonsense\n")
        key = ("--tls-key-file", self.leaf + ".key")
        for name in ("table_store", "api"):
            self.refuse(name, "--tls-certificate-file", expired, *key, says=f"{expired} expired at ")
            self.refuse(name, "--tls-certificate-file", garbage, *key, says=f"{garbage} is not a chain of certificates")
            self.refuse(name, "--tls-certificate-file", "/nowhere", *key, says="/nowhere cannot be read: No such file")
            self.refuse(name, "--tls-certificate-file", self.leaf + ".pem", "--tls-key-file", garbage,
                        says=f"{garbage} is not the certificate's private key")
            self.refuse(name, *key, says="tls_certificate_file and tls_key_file belong together")


    def test_settings_of_bearer_tokens(self):
        garbage = os.path.join(self.directory, "keys.json")
        with open(garbage, "w") as file:
            file.write("{}")
        issuer = ("--bearer-issuer", "https://login.example.org/tenant")
        self.refuse("table_store", *issuer, says="bearer_keys: name the issuer's key set")
        self.refuse("table_store", *issuer, "--bearer-keys", "http://login.example.org/keys", says="must be https://")
        self.refuse("table_store", *issuer, "--bearer-keys", "/nowhere", says="bearer_keys: /nowhere: cannot be read: No such file")
        self.refuse("table_store", *issuer, "--bearer-keys", garbage, says="is not a JSON Web Key Set")
        self.refuse("table_store", *issuer, "--bearer-keys", garbage, "--bearer-audience", ",", says="bearer_audience")
        self.assertIn("anybody can make one", self.stack.start("table_store", *issuer, "--bearer-check", "basic").log())


    def test_keys_of_a_token_issuer_that_cannot_be_read_any_more(self):
        """The old keys stay in force until SIGHUP finds others."""
        key = os.path.join(self.directory, "issuer.pem")
        subprocess.run(["openssl", "genrsa", "-out", key, "2048"], check=True, capture_output=True)
        modulus = subprocess.run(["openssl", "rsa", "-in", key, "-noout", "-modulus"], check=True, capture_output=True,
                                 text=True).stdout.strip().split("=")[1]
        number = base64.urlsafe_b64encode(bytes.fromhex(modulus)).decode().rstrip("=")
        good = json.dumps({"keys": [{"kty": "RSA", "kid": "one", "use": "sig", "alg": "RS256", "e": "AQAB", "n": number}]})
        path = os.path.join(self.directory, "keys.json")

        def write(text):
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        write(good)
        store = self.stack.start("table_store", "--bearer-issuer", "https://login.example.org/tenant", "--bearer-keys", path)
        for text, said in (("{}", "the keys of the token issuer cannot be read"), (good, "the keys of the token issuer were read")):
            before = store.log(1 << 20).count(said)
            write(text)
            store.signal(signal.SIGHUP)
            wait_until(lambda: store.log(1 << 20).count(said) > before, said)


class StackScriptTest(TlsCase):
    def run_script(self, command, *arguments, environment=None):
        line = [os.path.join(SOURCE, "scripts", "stack"), command, "--data", os.path.join(self.directory, "d"), *arguments]
        ended = subprocess.run(line, capture_output=True, text=True, timeout=90,
                               env=clean_environment({"TIDEMARK_BIN": os.path.abspath(BIN), **(environment or {})}))
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        return ended.stdout

    def test_a_stack_with_https(self):
        base = free_port_base()
        self.addCleanup(self.run_script, "down")
        told = self.run_script("up", "--workers", "1", "--port-base", str(base), "--tls-cert", self.leaf + ".pem",
                               "--tls-key", self.leaf + ".key")
        for words in (f"blob  https://127.0.0.1:{base}/devstoreaccount1", f"api   https://127.0.0.1:{base + 3}"):
            self.assertIn(words, told)
        with self.connect(base + 2, self.ca) as connection:
            self.assertTrue(self.is_alive(connection))
        # The output for the shell is enough for the command line.
        exports = "\n".join(line for line in told.splitlines() if line.startswith("export ")).replace("127.0.0.1", "localhost")  # as in the certificate
        listed = subprocess.run(["bash", "-ec", f"{exports}\n{os.path.join(os.path.abspath(BIN), 'tidemark')} queue list"],
                                capture_output=True, text=True, timeout=60, env=clean_environment())
        self.assertEqual((listed.returncode, listed.stderr), (0, ""))
        self.assertIn("tidemark-jobs", listed.stdout)

    def test_a_certificate_of_the_environment_is_remembered(self):
        base = free_port_base()
        self.addCleanup(self.run_script, "down")
        files = {"TIDEMARK_TLS_CERTIFICATE_FILE": self.leaf + ".pem", "TIDEMARK_TLS_KEY_FILE": self.leaf + ".key"}
        first = self.run_script("up", "--workers", "1", "--port-base", str(base), environment=files)
        self.assertIn(f"export TIDEMARK_CA_FILE={self.leaf}.pem\n", first)
        self.run_script("down")
        self.assertEqual(self.run_script("up", "--workers", "1"), first)


if __name__ == "__main__":
    unittest.main()
