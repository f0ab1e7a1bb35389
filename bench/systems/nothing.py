from harness.processes import System


class Nothing(System):
    """No server: the client answers itself."""
    name, version = "nothing", "the client alone, which answers itself: no server can be faster"
    table = queue = blob = 1

    def start(self):
        pass
