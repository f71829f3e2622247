# One of our images with the packages of a person's own hash lock (REQUIREMENTS).
ARG BASE
FROM ${BASE}
ARG LOCK

USER 0:0
COPY ["docker/${LOCK}", "/opt/crossover/packages.txt"]

# Into the Python that the worker runs on, by its own pip, or by that of the base where it has none.  What a
# vendor's image holds packages to (PIP_CONSTRAINT) has no hashes.
RUN set -eu; \
    python="$(command -v python3)"; \
    python3 -m pip --version >/dev/null 2>&1 || PATH=/usr/local/bin:/usr/bin:/bin; \
    PIP_CONSTRAINT= python3 -m pip --python "$python" install \
        --require-hashes --no-deps --no-cache-dir \
        --disable-pip-version-check --root-user-action=ignore --progress-bar=off \
        --timeout=120 --retries=10 -r /opt/crossover/packages.txt
USER 10001:10001
