"""Links to a PostgreSQL cluster that can be cut: nothing comes through a cut link, neither end is notified, and data
that was sent meanwhile arrives when the link is mended."""
import os
import random
import shutil
import socket
import tempfile
import threading
import time

import networks

SOCKET = ".s.PGSQL.5432"
PORT = 5432
READ_AT_ONCE = 65536
SOME = 0.3  # of the answers


class Link:
    """A socket in a directory, behind which a thread passes everything on, or waits. `late_s`: some answers are held back
    by up to this time, and overtaken by others."""

    def __init__(self, cluster, late_s=0.0):
        self._directory = tempfile.mkdtemp(prefix="tmlk")  # short, since it is part of a socket's path
        self._whole = threading.Event()
        self._whole.set()
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(os.path.join(self._directory, SOCKET))
        def hold_back():
            self._whole.wait()
            if late_s and random.random() < SOME:
                time.sleep(random.uniform(0, late_s))
        self._relay = Relay(listener, cluster, self._whole.wait, hold_back)

    def database(self, database):
        """Returns the connection string of a database of the cluster, over this link."""
        return with_host(database, self._directory)

    def lead_to(self, cluster):
        """New connections go to this cluster."""
        self._relay.lead_to(cluster)

    def cut(self):
        self._whole.clear()

    def mend(self):
        self._whole.set()

    def close(self):
        self.mend()
        self._relay.close()
        shutil.rmtree(self._directory, ignore_errors=True)


class NetworkLink:
    """A link to another machine (networks.py), which the cluster is on."""

    def __init__(self, cluster, machine, number):
        self._machine, self._number = machine, number
        with machine.sockets():
            listener = socket.create_server((networks.there(number), PORT))
        self._relay = Relay(listener, cluster)

    def database(self, database):
        return with_host(database, networks.there(self._number))

    def cut(self):
        self._machine.cut(self._number)

    def mend(self):
        self._machine.mend(self._number)

    def close(self):
        self._relay.close()


def with_host(database, host):
    return " ".join(f"host={host}" if word.startswith("host=") else word for word in database.split())


class Relay:
    """Passes data from a listener to a cluster, each time after `pause`, and back, each time after `pause_back`."""

    def __init__(self, listener, cluster, pause=lambda: None, pause_back=lambda: None):
        self.lead_to(cluster)
        self._pause, self._pause_back = pause, pause_back
        self._listener = listener
        self._listener.listen(128)
        threading.Thread(target=self._accept, daemon=True).start()

    def lead_to(self, cluster):
        self._there = os.path.join(cluster.directory, SOCKET)

    def close(self):
        self._listener.close()

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
            back = threading.Thread(target=self._carry, args=(there, here, self._pause_back), daemon=True)
            back.start()
            self._carry(here, there, self._pause)
            back.join()

    def _carry(self, source, target, pause):
        try:
            while data := source.recv(READ_AT_ONCE):
                pause()
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
