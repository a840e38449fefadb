"""Reads every assessment from axport, or fails: copy this file and keep it. Python 3.9, no packages.

    python3 every_page.py educators.ndjson

writes one record a line, and replaces the file only when everything has been read. AXPORT_URL, AXPORT_CLIENT_ID and
AXPORT_CLIENT_SECRET come from the environment; so do two numbers of seconds: AXPORT_TIMEOUT for one answer (60), and
AXPORT_RETRY_FOR for repeating one request (300).
"""
import http.client, json, logging, os, queue, random, sys, threading, time
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from urllib.parse import urlencode
from urllib.request import HTTPErrorProcessor, Request, build_opener

TEMPORARY = {408, 429, 500, 502, 503, 504}


class Failure(Exception):
    """Repeating the request does not help."""


class Unauthorized(Failure):
    """The service answered with 401."""


class TemporaryFailure(Exception):
    """The request may succeed later, in `seconds` at the earliest."""

    def __init__(self, message, seconds=0):
        super().__init__(message)
        self.seconds = seconds


class DataChanged(Exception):
    """Records were added, removed or moved while they were read: start over."""


class AsItIs(HTTPErrorProcessor):
    """Returns every answer, also a redirect: that would take the secret or the token to another host."""

    def http_response(self, request, response):
        return response

    https_response = http_response


class Service:
    def __init__(self, base, client_id, client_secret, timeout=60, retry_for=300):
        self.base, self.timeout, self.retry_for = base.rstrip("/"), timeout, retry_for
        self.credentials = {"client_id": client_id, "client_secret": client_secret}
        self.opener, self.token = build_opener(AsItIs), None

    def every_record(self, *filters):
        """Yields each record that matches filters such as ("filter[seids][]", "A1"), in the order of day and id. What it
        has yielded is complete when it ends without an exception. Raises DataChanged or Failure."""
        count, read, last = None, 0, []
        while count is None or read < count:
            # One record early: unless the last one comes again, records were added or removed before it.
            records, total = self.page(*filters, ("offset", max(read - 1, 0)))
            again, records = records[: len(last)], records[len(last) :]
            if total != (total if count is None else count) or [key(record) for record in again] != last:
                raise DataChanged(f"after {read} records")
            count = total
            for record in records:
                if last and key(record) <= last[0]:
                    raise DataChanged(f"after {read} records")
                read, last = read + 1, [key(record)]
                yield record
            if read > count or (read < count and not records):
                raise DataChanged(f"after {read} records of {count}")

    def page(self, *parameters):
        """The records of one page, and the number of all. A token that was refused is renewed once."""
        query = urlencode([("page", 100), ("sort", "certified_on"), ("order", "ASC"), *parameters])
        for is_renewed in (False, True):
            if self.token is None:
                form = urlencode({"grant_type": "client_credentials", **self.credentials}).encode()
                self.token = self.answer("/oauth/token", form)["access_token"]
            try:
                body = self.answer(f"/api/v1/ax/assessments?{query}")
                break
            except Unauthorized:
                self.token = None
                if is_renewed:
                    raise
        return body["data"], body["meta"]["count"]

    def answer(self, path, form=None):
        """The JSON of the answer with status 200. Repeats the request after temporary failures."""
        give_up, attempt = time.monotonic() + self.retry_for, 0
        request = Request(self.base + path, form, {"Authorization": f"Bearer {self.token}"} if self.token else {})
        while True:
            try:
                return within(self.timeout, lambda: self.send(request))
            except TemporaryFailure as failure:
                # Longer each time, not the same for all clients, and at least as long as the service said.
                pause = max(min(30, 2**attempt / 2) * random.uniform(0.5, 1), failure.seconds)
                if time.monotonic() + pause > give_up:
                    raise Failure(f"{failure}; given up") from failure
                logging.warning("%s; again in %.1f s", failure, pause)
                time.sleep(pause)
                attempt += 1

    def send(self, request):
        what = f"{request.get_method()} {request.full_url.split('?')[0]}"
        try:
            with self.opener.open(request, timeout=self.timeout) as answer:
                status, headers, body = answer.status, answer.headers, answer.read()
            if status == 200:
                return json.loads(body)
        # No connection, one that was reset, an answer that broke off, and text that is not JSON.
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise TemporaryFailure(f"{what}: {error or type(error).__name__}") from error
        message = f"{what}: {status} {body[:500].decode(errors='replace').strip()}"
        # A bare 400 answers bytes that were no request: not those of this program, which are one.
        is_bare = status == 400 and not body and "X-Request-Id" not in headers
        if status in TEMPORARY or is_bare:
            raise TemporaryFailure(message, seconds_until(headers["Retry-After"]))
        raise (Unauthorized if status == 401 else Failure)(message)


def key(record):
    """The order of records: by day, then by id."""
    return record["certified_on"], record["id"]


def seconds_until(retry_after):
    """The seconds of a Retry-After, which is a number or a date; 0 if it is neither."""
    try:
        if (retry_after or "").strip().isdigit():
            return int(retry_after)
        return (parsedate_to_datetime(retry_after) - datetime.now(timezone.utc)).total_seconds()
    except (TypeError, ValueError):
        return 0


def within(seconds, work):
    """The result of work(). The timeout of a socket bounds neither a slow name server nor an answer of single bytes."""
    outcome = queue.SimpleQueue()

    def run():
        try:
            outcome.put((work(), None))
        except Exception as error:
            outcome.put((None, error))

    threading.Thread(target=run, daemon=True).start()
    try:
        result, error = outcome.get(timeout=seconds)
    except queue.Empty:
        raise TemporaryFailure(f"no answer within {seconds:g} s") from None
    if error:
        raise error
    return result


def save(service, path, starts=4):
    """Writes every record to a file, or leaves the file as it is. Returns the number of records."""
    partial = f"{path}.partial"
    for _ in range(starts):
        try:
            # Personal data: readable for the owner alone.
            with open(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
                written = 0
                for written, record in enumerate(service.every_record(), 1):
                    file.write(json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n")
                file.flush()
                os.fsync(file.fileno())
            if written == 0:
                raise Failure("the service has no records for this client; the file is left as it is")
            os.replace(partial, path)
            return written
        except DataChanged as change:
            logging.warning("the data changed %s; starting over", change)
        finally:
            if os.path.exists(partial):
                os.remove(partial)
    raise Failure(f"the data changed during each of {starts} reads")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    service = Service(
        *(os.environ[f"AXPORT_{name}"] for name in ("URL", "CLIENT_ID", "CLIENT_SECRET")),
        timeout=float(os.environ.get("AXPORT_TIMEOUT", 60)),
        retry_for=float(os.environ.get("AXPORT_RETRY_FOR", 300)),
    )
    try:
        print(save(service, sys.argv[1]), "records", file=sys.stderr)
    except Failure as failure:
        sys.exit(str(failure))
