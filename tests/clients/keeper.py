"""Kills a server and starts it again on the same port when a client's test asks for it:
the tests that are programs of their own (Node.js, C) connect to the keeper and send a line,
`kill` or `start`; the reply is +OK when it is done. A line may come as a request of RESP."""
import socket
import threading


class Keeper:
    def __init__(self, server):
        self.server = server
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def kill(self):
        """SIGKILL: connections end without a word, and what was in memory is lost."""
        assert self.server.is_running(), self.server.log_text()
        self.server.kill()

    def start(self):
        self.server.start_again()

    def close(self):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join()

    def _accept(self):
        while True:
            try:
                conn, _ = self._listener.accept()
            except OSError:
                return
            with conn, conn.makefile("rb") as lines:
                for line in lines:
                    verb = line.strip().decode()
                    if verb in ("kill", "start"):  # else a length of RESP
                        conn.sendall(self._obey(verb))

    def _obey(self, verb):
        try:
            getattr(self, verb)()
        except Exception as fault:  # the client's test fails with it
            return f"-ERR {fault!r}\r\n".replace("\n", " ").encode() + b"\r\n"
        return b"+OK\r\n"
