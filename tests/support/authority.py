"""An issuer of bearer tokens that a test runs: it signs tokens, publishes its keys, and gives tokens to clients with
its secret.

It speaks HTTPS. Clients log in as they do at AD FS: the authority is URL/adfs, by the flow of client credentials.
"""
import http.server
import json
import ssl
import threading
import time
from urllib.parse import parse_qs

import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

AUDIENCE = "https://storage.azure.com"
CLIENT = "11111111-2222-3333-4444-555555555555"
SECRET = "not-a-real-secret"
TENANT = "66666666-7777-8888-9999-000000000000"
TOKEN_LIFE_S = 600


class Authority:
    """`roles` are those of the tokens that it gives to clients who log in."""

    def __init__(self, certificate, key, port=0, issuer=None, roles=()):
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        self.roles = list(roles)
        authority = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(200, authority.documents().get(self.path.partition("?")[0], {}))

            def do_POST(self):
                form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
                if (form.get("client_id"), form.get("client_secret")) != ([CLIENT], [SECRET]):
                    self.answer(401, {"error": "invalid_client", "error_description": "unknown client or wrong secret"})
                    return
                self.answer(200, {"token_type": "Bearer", "expires_in": TOKEN_LIFE_S, "access_token": authority.token(*authority.roles)})

            def answer(self, status, document):
                body = json.dumps(document).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.url = f"https://localhost:{self._server.server_port}"
        self.issuer = issuer or self.url + "/adfs"
        self.keys_url = self.url + "/keys"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()

    def documents(self):
        own = json.loads(jwt.algorithms.RSAAlgorithm.to_jwk(self._key.public_key()))
        return {"/keys": {"keys": [own | {"kid": "one", "use": "sig"}]},
                "/adfs/.well-known/openid-configuration": {
                    "issuer": self.issuer, "authorization_endpoint": self.url + "/adfs/oauth2/authorize",
                    "token_endpoint": self.url + "/adfs/oauth2/token",
                    "device_authorization_endpoint": self.url + "/adfs/oauth2/devicecode"},
                "/subscriptions": {"value": []}}  # azure-cli asks for the subscriptions

    def token(self, *roles):
        now = int(time.time())
        claims = {"iss": self.issuer, "aud": AUDIENCE, "nbf": now, "exp": now + TOKEN_LIFE_S, "oid": CLIENT, "tid": TENANT,
                  "roles": roles}
        return jwt.encode(claims, self._key, algorithm="RS256", headers={"kid": "one"})
