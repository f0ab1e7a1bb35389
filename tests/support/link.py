"""A link to a PostgreSQL cluster that can be cut: nothing comes through while it is, nobody is told, and what was sent
meanwhile arrives when it is mended, as over a network."""
import os
import shutil
import socket
import tempfile
import threading

SOCKET = ".s.PGSQL.5432"
READ_AT_ONCE = 65536


class Link:
    def __init__(self, cluster):
        self._there = os.path.join(cluster.directory, SOCKET)
        self.directory = tempfile.mkdtemp(prefix="tmlk", dir="/tmp")  # short: it is part of a socket's path
        self._whole = threading.Event()
        self._whole.set()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(os.path.join(self.directory, SOCKET))
        self._listener.listen(128)
        threading.Thread(target=self._accept, daemon=True).start()

    def database(self, database):
        """The connection string of a database of the cluster, over this link."""
        return " ".join(f"host={self.directory}" if word.startswith("host=") else word for word in database.split())

    def cut(self):
        self._whole.clear()

    def mend(self):
        self._whole.set()

    def close(self):
        self.mend()
        self._listener.close()
        shutil.rmtree(self.directory, ignore_errors=True)

    def _accept(self):
        while True:
            try:
                here, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(here,), daemon=True).start()

    def _serve(self, here):
        with here, socket.socket(socket.AF_UNIX) as there:
            try:
                there.connect(self._there)
            except OSError:
                return
            back = threading.Thread(target=self._carry, args=(there, here), daemon=True)
            back.start()
            self._carry(here, there)
            back.join()

    def _carry(self, source, target):
        try:
            while data := source.recv(READ_AT_ONCE):
                self._whole.wait()
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
