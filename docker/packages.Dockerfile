# One of our images with the packages of a person's own hash lock (REQUIREMENTS).
ARG BASE
FROM ${BASE}
ARG LOCK

USER 0:0
COPY ["docker/${LOCK}", "/opt/crossover/packages.txt"]

# Into the Python that the worker runs on: by the base's, where that one is our own environment and has no
# installer; what a vendor's image holds packages to (PIP_CONSTRAINT) has no hashes.
RUN set -eu; export PIP_CONSTRAINT=; \
    python="$(command -v python3)"; \
    if [ -d /opt/crossover/venv ]; then PATH=/usr/local/bin:/usr/bin:/bin; fi; \
    python3 -m pip --python "$python" install \
        --require-hashes --no-deps --only-binary=:all: --no-cache-dir \
        --disable-pip-version-check --root-user-action=ignore --progress-bar=off \
        --timeout=120 --retries=10 -r /opt/crossover/packages.txt;
USER 10001:10001
