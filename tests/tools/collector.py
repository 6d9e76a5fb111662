#!/usr/bin/python3
"""collector.py FILE [STATUS]: a collector of OTLP/HTTP at a free port, which it prints: each request's path, type and body go to FILE, a line each."""
import http.server
import json
import sys


class Take(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with open(sys.argv[1], "a") as out:
            out.write(json.dumps([self.path, self.headers["Content-Type"], json.loads(body)]) + "\n")
        self.send_response(int(sys.argv[2]) if len(sys.argv) > 2 else 200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *args):
        pass


server = http.server.HTTPServer(("127.0.0.1", 0), Take)
print(server.server_address[1], flush=True)
server.serve_forever()
