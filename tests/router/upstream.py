"""A server that answers chat requests with a text of its own, for the tests: `python upstream.py PORT NAME PAUSE`."""

import json
import socket
import sys
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked = body["messages"][-1]["content"]
        time.sleep(float(sys.argv[3]))
        if asked == "bad":
            self.send(400, {"error": {"message": "bad request"}})
        elif asked.startswith(f"{sys.argv[2]} is down"):
            self.send(503, {"error": {"message": "down"}})
        elif body.get("stream"):
            self.stream(asked)
        else:
            usage = {"prompt_tokens": 100, "completion_tokens": 50}
            message = {"role": "assistant", "content": f"{sys.argv[2]} says {asked}"}
            self.send(200, {"model": body["model"], "choices": [{"message": message}], "usage": usage})

    def send(self, status, found):
        content = json.dumps(found).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def stream(self, asked):
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        for word in asked.split():
            self.chunk(json.dumps({"choices": [{"delta": {"content": word}}]}))
        if asked.endswith("break"):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        self.chunk(json.dumps({"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 20}}))
        self.chunk("[DONE]")
        self.wfile.write(b"0\r\n\r\n")

    def chunk(self, data):
        line = f"data: {data}\n\n".encode()
        self.wfile.write(f"{len(line):x}\r\n".encode() + line + b"\r\n")

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    ThreadingHTTPServer.request_queue_size = 128
    ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
