"""Enqueues calls at the service, with nothing but Python's standard library: python3 examples/service/client.py

It also plays the third party that the service calls, so that you see at which rate the calls come.
"""

import json
import os
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

SERVICE = os.environ.get("VELVET_ROPE_URL", "http://127.0.0.1:7077")
PORT = int(os.environ.get("PORT", "8099"))
BEGIN = time.monotonic()


def say(text):
    # The line and its end at once: two threads say things.
    print(f"{time.monotonic() - BEGIN:6.3f} s  {text}\n", end="", flush=True)


class ThirdParty(BaseHTTPRequestHandler):
    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        say(f"called: order {body['order']}")
        self.send_response(200)
        self.send_header("content-length", "0")
        self.end_headers()

    def log_message(self, *_):
        pass


def ask(method, path, body=None):
    """Returns status, headers and body of an answer; a 429 is an answer like others."""
    data = None if body is None else json.dumps(body).encode()
    headers = {"content-type": "application/json"}
    request = urllib.request.Request(SERVICE + path, data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return answer.status, answer.headers, json.load(answer)
    except urllib.error.HTTPError as refusal:
        return refusal.code, refusal.headers, json.load(refusal)


def enqueue(order):
    """Enqueues the call for an order. The id makes it safe to ask again, also after an answer that was lost."""
    call = {"method": "POST", "url": f"http://127.0.0.1:{PORT}/orders", "body": {"order": order}}
    while True:
        status, headers, body = ask("POST", "/v1/buckets/acme/jobs", {"id": f"order-{order}", "data": call})
        if status == 202:
            return say(f"order {order} is accepted, {body['waiting']} of {body['capacity']} wait")
        if status not in (429, 503):
            raise RuntimeError(f"order {order}: {status} {body}")
        say(f"order {order} is rejected, comes back in {headers['retry-after']} s")
        time.sleep(int(headers["retry-after"]))


def departure(order):
    """Waits until the call for an order has been made; returns when, in milliseconds."""
    while True:
        _, _, job = ask("GET", f"/v1/jobs/order-{order}")
        if job["state"] == "completed":
            return job["departedAt"]
        time.sleep(0.1)


with ThreadingHTTPServer(("127.0.0.1", PORT), ThirdParty) as third_party:
    Thread(target=third_party.serve_forever, daemon=True).start()
    orders = range(1, 9)
    for order in orders:
        enqueue(order)
    times = [departure(order) for order in orders]
    gaps = [after - before for before, after in zip(times, times[1:])]
    say(f"all {len(times)} calls are made; the shortest gap between two: {min(gaps):.0f} ms")
    third_party.shutdown()
