# Prints the id of every assessment: python3 every_page.py. Needs AXPORT_URL, AXPORT_CLIENT_ID, AXPORT_CLIENT_SECRET.
import json, os, time
from urllib.error import HTTPError, URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

BASE = os.environ["AXPORT_URL"]


def new_token():
    form = {
        "grant_type": "client_credentials",
        "client_id": os.environ["AXPORT_CLIENT_ID"],
        "client_secret": os.environ["AXPORT_CLIENT_SECRET"],
    }
    with urlopen(f"{BASE}/oauth/token", urlencode(form).encode()) as answer:
        return json.load(answer)["access_token"]


token, offset, count, attempt = new_token(), 0, 1, 1
while offset < count:
    url = f"{BASE}/api/v1/ax/assessments?page=100&offset={offset}"
    try:
        with urlopen(Request(url, headers={"Authorization": f"Bearer {token}"})) as answer:
            page = json.load(answer)
    except (URLError, ConnectionError) as error:
        status = error.code if isinstance(error, HTTPError) else 503
        if attempt == 5 or status not in (401, 503, 504):
            raise
        attempt += 1
        if status == 401:
            token = new_token()
        else:
            headers = error.headers if isinstance(error, HTTPError) else {}
            time.sleep(float(headers.get("Retry-After", 2**attempt)))
        continue
    if offset > 0 and page["meta"]["count"] != count:
        raise SystemExit("the data changed: start over")
    for assessment in page["data"]:
        print(assessment["id"])
    count, offset, attempt = page["meta"]["count"], offset + 100, 1
