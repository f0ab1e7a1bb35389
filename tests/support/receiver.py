"""An endpoint for callbacks: answers as the test decides, keeps its requests, and checks signatures by itself, from the
specification of Standard Webhooks. With certificates that it makes (openssl) it speaks TLS.
"""
import base64
import hashlib
import hmac
import http.server
import json
import os
import ssl
import subprocess
import threading

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
OLD_SECRET = "whsec_" + base64.b64encode(bytes(range(100, 140))).decode()


def signature(secret, request):
    """Returns the value that header webhook-signature must hold."""
    key = base64.b64decode(secret.removeprefix("whsec_"))
    signed = f"{request['webhook-id']}.{request['webhook-timestamp']}.".encode() + request["body"]
    return "v1," + base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()


class Receiver:
    """`answer(request)` gives (status, headers, body), or None to close the connection without one; it runs on a thread
    of its own for each request. Requests are dicts: method, path, body, json() and the headers by lower-case name."""

    def __init__(self, answer=None, certificate=None):
        self.answer = answer or (lambda request: (204, {}, b""))
        self.got = []
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def handle_one(self):
                request = {name.lower(): value for name, value in self.headers.items()}
                request.update(method=self.command, path=self.path,
                               body=self.rfile.read(int(self.headers.get("Content-Length", 0))))
                receiver.got.append(request)
                answer = receiver.answer(request)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, body = answer
                try:
                    self.send_response(status)
                    for name, value in {"Content-Length": str(len(body)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    self.wfile.write(body)
                except OSError:
                    self.close_connection = True  # the caller has the answer, or has died

            do_POST = do_PUT = do_PATCH = do_DELETE = do_GET = handle_one

            def log_message(self, *_):
                pass

        class Server(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_):
                pass  # callers are killed here

        self.server = Server(("127.0.0.1", 0), Handler)
        self.scheme = "http"
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate + ".pem", certificate + ".key")
            self.server.socket = context.wrap_socket(self.server.socket, server_side=True)
            self.scheme = "https"
        self.port = self.server.server_address[1]
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.05,), daemon=True)
        self.thread.start()

    def url(self, path="/", host="localhost"):
        return f"{self.scheme}://{host}:{self.port}{path}"

    def bodies(self):
        return [json.loads(request["body"]) for request in self.got]

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


def make_certificates(directory):
    """Makes an authority and a certificate of it for localhost: (path of the authority's, path of the certificate
    without its ending)."""
    authority, leaf = os.path.join(directory, "ca"), os.path.join(directory, "leaf")

    def openssl(*arguments):
        subprocess.run(["openssl", *arguments], check=True, capture_output=True, cwd=directory)

    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj",
            "/CN=Test authority", "-addext", "keyUsage=critical,keyCertSign", "-keyout", authority + ".key", "-out",
            authority + ".pem")
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=localhost",
            "-keyout", leaf + ".key", "-out", leaf + ".csr")
    with open(leaf + ".ext", "w") as file:
        file.write("subjectAltName=DNS:localhost\n")
    openssl("x509", "-req", "-in", leaf + ".csr", "-CA", authority + ".pem", "-CAkey", authority + ".key",
            "-CAcreateserial", "-days", "2", "-extfile", leaf + ".ext", "-out", leaf + ".pem")
    return authority + ".pem", leaf
