"""Python's requests-oauthlib."""

import os
import time

from oauthlib.oauth2 import BackendApplicationClient, LegacyApplicationClient, OAuth2Error
from requests_oauthlib import OAuth2Session

import task

# The library's own way to allow plain HTTP.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

# True puts both into the body; by default they are in the header.
in_body = {"client_secret_basic": None, "client_secret_post": True}[task.STYLE]
credentials = {
    "token_url": task.TOKEN_URL,
    "client_id": task.CLIENT_ID,
    "client_secret": task.CLIENT_SECRET,
    "include_client_id": in_body,
}
session = OAuth2Session(client=BackendApplicationClient(client_id=task.CLIENT_ID))


def other_grant():
    other = OAuth2Session(client=LegacyApplicationClient(client_id=task.CLIENT_ID))
    other.fetch_token(username="ana", password="x", **credentials)


task.perform(
    session,
    fetch_token=lambda: session.fetch_token(**credentials)["expires_at"] - time.time(),
    other_grant=other_grant,
    refusal=lambda error: {
        "status": error.status_code,
        "error": error.error,
        "description": error.description,
    },
    error_class=OAuth2Error,
)
