# The same image from the programs that scripts/build has made on this machine (Debian 12). A file of its own, because
# Docker's classic builder builds every stage before the one that is asked for, and would compile after all.
#   docker build -f compose/Dockerfile --target runtime -t tidemark-runtime .
#   docker build -f compose/prebuilt.Dockerfile -t tidemark build/release/bin
ARG RUNTIME=tidemark-runtime
FROM ${RUNTIME}
COPY table_store queue_service blob_store worker api tidemark /usr/local/bin/
