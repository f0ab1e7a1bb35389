"""A client of the api that checks every answer, and every body that was taken, against the api's own description (Debian:
python3-jsonschema)."""
import json
import re
from urllib.parse import urlsplit

import jsonschema

from clients import ApiClient


class UntrueDescription(AssertionError):
    pass


class CheckedApiClient(ApiClient):
    """Fetches /openapi.json first; `seen` holds (method, path template, status) of every answer."""

    def __init__(self, port, headers=None):
        super().__init__(port)
        self.extra = headers or {}
        self.seen = set()
        self.document = None
        _, _, body = self.send("GET", "/openapi.json")
        self.document = json.loads(body)
        self.check("GET", "/openapi.json", 200, {"Content-Type": "application/json", "x-request-id": "-"}, body)

    def send(self, method, target, headers=None, body=None):
        status, answered, content = super().send(method, target, {**self.extra, **(headers or {})}, body)
        if self.document:
            self.check(method, target, status, answered, content)
            if body and status < 300:
                self.check_taken(method, target, body)
        return status, answered, content

    def operations(self):
        return {(method.upper(), path) for path, item in self.document["paths"].items()
                for method in item if method != "parameters"}

    def check(self, method, target, status, headers, content):
        if not headers.get("x-request-id"):
            raise UntrueDescription(f"{method} {target}: no x-request-id")
        template = self._template(urlsplit(target).path)
        operation = self.document["paths"].get(template, {}).get(method.lower())
        if operation is None:
            # Requests outside the description are only refused.
            if status not in (401, 404, 405):
                raise UntrueDescription(f"{method} {target} is not described and answers {status}")
            answer = self.document["components"]["responses"]["Problem"]
        else:
            self.seen.add((method, template, status))
            answer = operation["responses"].get(str(status))
            if answer is None:
                if status < 400:
                    raise UntrueDescription(f"{method} {template}: {status} is not described")
                answer = operation["responses"]["default"]
        self._check_content(f"{method} {template} {status}", self._resolve(answer), headers, content)

    def check_taken(self, method, target, body):
        """Checks a body that the api has taken: the description must take it, too."""
        template = self._template(urlsplit(target).path)
        kinds = self.document["paths"][template][method.lower()].get("requestBody", {}).get("content", {})
        if "application/json" in kinds:
            self._validate(f"{method} {template} takes", kinds["application/json"]["schema"], json.loads(body))

    def _check_content(self, what, answer, headers, content):
        kinds = answer.get("content")
        if kinds is None:
            if content:
                raise UntrueDescription(f"{what}: a body that is not described")
            return
        kind = (headers.get("Content-Type") or "").split(";")[0]
        if kind not in kinds:
            raise UntrueDescription(f"{what}: Content-Type {kind!r}, described: {sorted(kinds)}")
        if kind.endswith("json"):
            self._validate(what, kinds[kind]["schema"], json.loads(content))

    def _validate(self, what, schema, value):
        schema = {**schema, "components": self.document["components"]}
        checker = jsonschema.FormatChecker()
        checker.checks("date-time")(lambda text: not isinstance(text, str) or bool(
            re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,7})?Z", text)))
        try:
            jsonschema.Draft202012Validator(schema, format_checker=checker).validate(value)
        except jsonschema.ValidationError as error:
            raise UntrueDescription(f"{what}: {error.message} at {list(error.absolute_path)}") from None

    def _resolve(self, item):
        while "$ref" in item:
            found = self.document
            for part in item["$ref"].removeprefix("#/").split("/"):
                found = found[part]
            item = found
        return item

    def _template(self, path):
        paths = self.document["paths"]
        if path in paths:
            return path
        for template in paths:
            if re.fullmatch(re.sub(r"\{[a-z]+\}", "[^/]+", template), path):
                return template
        return path
