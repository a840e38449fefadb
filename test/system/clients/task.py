"""The code that the Python programs share. task.ts describes their environment and their output."""

import json
import os

BASE_URL = os.environ["BASE_URL"]
CLIENT_ID = os.environ["CLIENT_ID"]
CLIENT_SECRET = os.environ["CLIENT_SECRET"]
STYLE = os.environ["STYLE"]
TOKEN_URL = BASE_URL + "/oauth/token"
JOB = os.environ["JOB"]


def perform(session, fetch_token, other_grant, refusal, error_class):
    """Does the job by a session of requests; refusal() tells what of its error a library shows."""
    seen = {"ids": []}
    try:
        if JOB == "grant":
            other_grant()
        else:
            walk(session, fetch_token, seen)
    except error_class as error:
        seen["refused"] = {"kind": type(error).__name__, **refusal(error)}
    print(json.dumps(seen))


def walk(session, fetch_token, seen):
    seen["lifetime"] = fetch_token()
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
            seen["lifetime"] = fetch_token()
            continue
        response.raise_for_status()
        page = response.json()
        seen["ids"] += [record["id"] for record in page["data"]]
        seen["count"] = page["meta"]["count"]
        if offset == 0 and JOB == "pause":
            print("paused", flush=True)
            input()
        offset += 100
