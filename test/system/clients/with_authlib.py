"""Python's Authlib."""

import time

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session

import task

session = OAuth2Session(
    task.CLIENT_ID,
    task.CLIENT_SECRET,
    token_endpoint=task.TOKEN_URL,
    token_endpoint_auth_method=task.STYLE,
    grant_type="client_credentials",
)

task.perform(
    session,
    fetch_token=lambda: session.fetch_token()["expires_at"] - time.time(),
    other_grant=lambda: session.fetch_token(grant_type="password", username="ana", password="x"),
    refusal=lambda error: {"error": error.error, "description": error.description},
    error_class=OAuthError,
)
