"""Shared access signatures, written from the protocol alone."""
import base64
import hashlib
import hmac
from datetime import datetime, timedelta, timezone
from urllib.parse import urlencode

from clients import ACCOUNT, KEY

VERSION = "2019-02-02"


def at(hours):
    """Returns the time so many hours from now."""
    return (datetime.now(timezone.utc) + timedelta(hours=hours)).strftime("%Y-%m-%dT%H:%M:%SZ")


def _signed(fields, text, key):
    fields["sig"] = base64.b64encode(hmac.new(key, text.encode(), hashlib.sha256).digest()).decode()
    return urlencode({name: value for name, value in fields.items() if value})


def account_sas(services="bqt", types="sco", permissions="rwdlacup", starts="", expires=None, key=KEY):
    fields = {"sv": VERSION, "ss": services, "srt": types, "sp": permissions, "st": starts, "se": expires or at(1)}
    text = "\n".join((ACCOUNT, permissions, services, types, fields["st"], fields["se"], "", "", VERSION, ""))
    return _signed(fields, text, key)


def service_sas(service, resource, permissions, starts="", expires=None, kind="", key=KEY):
    """Makes a SAS of "queue", "table" or "blob"; `kind` is c or b for blobs."""
    fields = {"sv": VERSION, "sp": permissions, "st": starts, "se": expires or at(1)}
    parts = [permissions, starts, fields["se"], f"/{service}/{ACCOUNT}/{resource.lower() if service == 'table' else resource}",
             "", "", "", VERSION]
    if service == "table":
        fields["tn"] = resource
        parts += ["", "", "", ""]
    if service == "blob":
        fields["sr"] = kind
        parts += [kind, "", "", "", "", "", ""]
    return _signed(fields, "\n".join(parts), key)
