"""Python's requests-oauthlib. What it is told and what it prints is described in task.ts."""

import json
import os
import time

from oauthlib.oauth2 import BackendApplicationClient, LegacyApplicationClient, OAuth2Error
from requests_oauthlib import OAuth2Session

BASE_URL = os.environ["BASE_URL"]
CLIENT_ID = os.environ["CLIENT_ID"]
JOB = os.environ["JOB"]
# The library's own way to allow plain HTTP.
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"

# True puts both into the body; by default they are in the header.
in_body = {"client_secret_basic": None, "client_secret_post": True}[os.environ["STYLE"]]
credentials = {
    "token_url": BASE_URL + "/oauth/token",
    "client_id": CLIENT_ID,
    "client_secret": os.environ["CLIENT_SECRET"],
    "include_client_id": in_body,
}
seen = {"ids": []}


def fetch_token(session):
    token = session.fetch_token(**credentials)
    seen["lifetime"] = token["expires_at"] - time.time()


def walk():
    session = OAuth2Session(client=BackendApplicationClient(client_id=CLIENT_ID))
    fetch_token(session)
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
            fetch_token(session)
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
        session = OAuth2Session(client=LegacyApplicationClient(client_id=CLIENT_ID))
        session.fetch_token(username="ana", password="x", **credentials)
    else:
        walk()
except OAuth2Error as error:
    seen["refused"] = {
        "kind": type(error).__name__,
        "status": error.status_code,
        "error": error.error,
        "description": error.description,
    }
print(json.dumps(seen))
