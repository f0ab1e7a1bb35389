import os
import pwd

from harness import install
from harness.processes import System, free_ports


class RabbitMq(System):
    """One node with a name server of its own. It does not run as root."""
    name, version = "rabbitmq", (f"RabbitMQ ({install.debian_version('rabbitmq-server')}), durable queue, persistent messages, "
                                 "publisher confirms")
    user = "rabbitmq"

    @staticmethod
    def install():
        install.debian("rabbitmq-server")

    def start(self):
        self.queue, names, distribution = free_ports(3)
        as_user = {"user": self.user, "group": self.user, "extra_groups": []} if os.geteuid() == 0 else {}
        if as_user:
            entry = pwd.getpwnam(self.user)
            os.chown(self.directory, entry.pw_uid, entry.pw_gid)
        environment = {
            "HOME": self.directory, "ERL_EPMD_PORT": str(names), "RABBITMQ_NODENAME": f"bench{self.queue}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1", "RABBITMQ_NODE_PORT": str(self.queue),
            "RABBITMQ_DIST_PORT": str(distribution), "RABBITMQ_MNESIA_BASE": self.directory,
            "RABBITMQ_LOG_BASE": self.directory, "RABBITMQ_PID_FILE": os.path.join(self.directory, "pid"),
            "RABBITMQ_CONFIG_FILE": os.path.join(self.directory, "none"), "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_ENABLED_PLUGINS_FILE": os.path.join(self.directory, "plugins")}
        self.await_port(self.launch("epmd", ["epmd", "-address", "127.0.0.1", "-port", str(names)], env=environment,
                                    **as_user), names)
        process = self.launch("rabbitmq", ["/usr/lib/rabbitmq/bin/rabbitmq-server"], env=environment, **as_user)
        self.await_port(process, self.queue)
