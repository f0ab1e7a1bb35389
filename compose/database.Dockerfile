# PostgreSQL under Patroni, and etcd, in which Patroni keeps the name of the leader; all from Debian. For cluster.yaml.
FROM debian:bookworm-slim
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
      curl etcd-client etcd-server patroni postgresql-15 python3-etcd \
 && rm -rf /var/lib/apt/lists/* /var/lib/postgresql/15 \
 && groupadd --gid 10001 tidemark && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin tidemark \
 && install -d -o tidemark -g tidemark -m 0700 /database /etcd /database_secrets /run/database
COPY compose/database/ /usr/local/lib/tidemark/
ENV PATH=/usr/lib/postgresql/15/bin:$PATH
USER tidemark
