# Debian's HAProxy, in front of several processes of each store and of the api. For compose/cluster.yaml.
FROM debian:bookworm-slim
RUN apt-get update \
 && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends curl haproxy \
 && rm -rf /var/lib/apt/lists/* \
 && groupadd --gid 10001 tidemark && useradd --uid 10001 --gid 10001 --no-create-home --shell /usr/sbin/nologin tidemark
COPY compose/proxy/ /usr/local/lib/tidemark/
USER tidemark
ENTRYPOINT ["/usr/local/lib/tidemark/proxy"]
