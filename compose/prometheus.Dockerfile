# Debian's Prometheus, as the user of the other containers, which may read the token.
FROM debian:bookworm-slim
RUN apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends prometheus curl >/dev/null \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 tidemark && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin tidemark \
 && install -d -o tidemark -g tidemark -m 0700 /prometheus
USER tidemark
VOLUME /prometheus
CMD ["prometheus", "--config.file=/etc/tidemark/prometheus.yml", "--storage.tsdb.path=/prometheus", "--storage.tsdb.retention.time=15d"]
