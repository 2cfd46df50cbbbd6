"""A local web server whose answers depart from good ones as a script says."""

import socket
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = bytes(range(256)) * 400
"""More than one piece, and no two places within 256 bytes alike."""

HALF = len(BODY) // 2


class Server(ThreadingHTTPServer):
    """Serves one file; `script` says how each answer in turn departs from a good one."""

    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.body, self.etag, self.script, self.requests = BODY, '"one"', [], []
        self.hold = threading.Event()
        """Answers that stall go on when this is set."""

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server_port}/file.bin"

    def ranges(self):
        return [request.get("Range") for request in self.requests]

    def handle_error(self, request, client_address):
        """Say nothing when a client hangs up."""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.requests.append(self.headers)
        answer = self.server.script.pop(0) if self.server.script else good
        answer(self)

    def log_message(self, format, *args):
        pass

    def begin(self, status, headers):
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, str(value))
        self.end_headers()

    def wanted(self):
        """Return the status, the headers and the body of a good answer."""
        body, etag = self.server.body, self.server.etag
        headers = {"ETag": etag} if etag else {}
        same = self.headers.get("If-Range", etag) == etag
        if not self.headers.get("Range") or not same:
            return 200, headers | {"Content-Length": len(body)}, body
        start = int(self.headers["Range"].removeprefix("bytes=").removesuffix("-"))
        if start >= len(body):
            return 416, {"Content-Range": f"bytes */{len(body)}", "Content-Length": 0}, b""
        headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        return 206, headers | {"Content-Length": len(body) - start}, body[start:]


def good(handler):
    status, headers, body = handler.wanted()
    handler.begin(status, headers)
    handler.wfile.write(body)


def drip(handler):
    status, headers, body = handler.wanted()
    handler.begin(status, headers)
    for at in range(0, len(body), 8192):
        handler.wfile.write(body[at : at + 8192])
        time.sleep(0.005)


def stall(handler):
    status, headers, body = handler.wanted()
    handler.begin(status, headers)
    handler.wfile.write(body[:HALF])
    handler.server.hold.wait(10)


def silent(handler):
    handler.server.hold.wait(10)


def truncate(handler):
    status, headers, body = handler.wanted()
    handler.begin(status, headers)
    handler.wfile.write(body[:HALF])


def reset(handler):
    truncate(handler)
    linger = (1).to_bytes(4, sys.byteorder) + bytes(4)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.wfile.flush()
    time.sleep(0.05)  # a reset discards what the client has not read yet
    handler.connection.close()


def truncate_whole(handler):
    """Truncate the whole file, whatever part of it was asked for."""
    handler.begin(200, {"Content-Length": len(handler.server.body)})
    handler.wfile.write(handler.server.body[:HALF])


def ignore_range(handler):
    handler.begin(200, {"Content-Length": len(handler.server.body)})
    handler.wfile.write(handler.server.body)


def wrong_range(handler):
    body = handler.server.body
    handler.begin(206, {"Content-Range": f"bytes 5-{len(body) - 1}/{len(body)}"})
    handler.wfile.write(body[5:])


def short_range(handler):
    """Give 1000 bytes of what was asked for, and say so."""
    status, headers, body = handler.wanted()
    start = len(handler.server.body) - len(body)
    headers["Content-Range"] = f"bytes {start}-{start + 999}/{len(handler.server.body)}"
    handler.begin(status, headers | {"Content-Length": 1000})
    handler.wfile.write(body[:1000])


def without_length(handler):
    handler.begin(200, {})
    handler.wfile.write(handler.server.body)


def encoded(handler):
    """Claim an encoding, as servers do that take a .gz file for a compressed page."""
    headers = {"Content-Encoding": "gzip", "Content-Length": len(handler.server.body)}
    handler.begin(200, headers)
    handler.wfile.write(handler.server.body)


def status(code):
    def answer(handler):
        handler.begin(code, {"Content-Length": 4})
        handler.wfile.write(b"oops")

    return answer


def redirect(handler):
    handler.begin(302, {"Location": "/elsewhere.bin", "Content-Length": 0})


def redirect_to_a_file(handler):
    handler.begin(302, {"Location": "file:///etc/hostname", "Content-Length": 0})


def redirect_in_a_circle(handler):
    handler.server.script.append(redirect_in_a_circle)
    redirect(handler)
