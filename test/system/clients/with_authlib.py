"""Python's Authlib. What it is told and what it prints is described in task.ts."""

import json
import os
import time

from authlib.integrations.base_client import OAuthError
from authlib.integrations.requests_client import OAuth2Session

BASE_URL = os.environ["BASE_URL"]
JOB = os.environ["JOB"]

session = OAuth2Session(
    os.environ["CLIENT_ID"],
    os.environ["CLIENT_SECRET"],
    token_endpoint=BASE_URL + "/oauth/token",
    token_endpoint_auth_method=os.environ["STYLE"],
    grant_type="client_credentials",
)
seen = {"ids": []}


def fetch_token():
    token = session.fetch_token()
    seen["lifetime"] = token["expires_at"] - time.time()


def walk():
    fetch_token()
    offset = 0
    while offset == 0 or offset < seen["count"]:
        parameters = {"page": 100, "offset": offset, "sort": "certified_on"}
        response = session.get(BASE_URL + "/api/v1/ax/assessments", params=parameters)
        if response.status_code == 401 and "refused" not in seen:
            body = response.json()
            seen["refused"] = {
                "kind": type(response).__name__,
                "status": response.status_code,
                "error": body["error"],
                "description": body["error_description"],
                "challenge": response.headers["www-authenticate"],
            }
            fetch_token()
            continue
        response.raise_for_status()
        page = response.json()
        seen["ids"] += [record["id"] for record in page["data"]]
        seen["count"] = page["meta"]["count"]
        if offset == 0 and JOB == "pause":
            print("paused", flush=True)
            input()
        offset += 100


try:
    if JOB == "grant":
        session.fetch_token(grant_type="password", username="ana", password="x")
    else:
        walk()
except OAuthError as error:
    seen["refused"] = {
        "kind": type(error).__name__,
        "error": error.error,
        "description": error.description,
    }
print(json.dumps(seen))
