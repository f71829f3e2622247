# The suite laid on an image that already holds Python and a GPU TensorFlow (CUDA_IMAGE): a vendor's,
# or a person's own.  No package is installed and none is changed; what its TensorFlow needs (PATH,
# LD_LIBRARY_PATH, TF_…) stays as the image has it, and all else is as in the other Dockerfile.
ARG BASE
FROM ${BASE}

LABEL org.opencontainers.image.title="Crossover worker" \
      org.opencontainers.image.description="Measures TensorFlow cells and answers with JSON lines"

# The image can run as another user, by another shell, look after its health by itself in the middle
# of a measurement, and have an entry point that would print and start things.
USER 0:0
SHELL ["/bin/sh", "-c"]
HEALTHCHECK NONE

COPY suite /opt/crossover/suite
RUN mkdir -p /home/crossover /scratch /cuda-cache \
    && chown 10001:10001 /home/crossover /scratch /cuda-cache

# Ours before the image's own, so that no other package of that name wins; nothing from the folder
# that it is started in, nor from a home folder.  Keras can be set to compute by another framework.
ENV PYTHONPATH=/opt/crossover${PYTHONPATH:+:${PYTHONPATH}} \
    PYTHONSAFEPATH=1 \
    PYTHONNOUSERSITE=1 \
    PYTHONDONTWRITEBYTECODE=1 \
    KERAS_BACKEND=tensorflow \
    TF_ENABLE_ONEDNN_OPTS=1 \
    HOME=/home/crossover \
    LANG=C.UTF-8
WORKDIR /tmp

# As the user that will measure: a Python or packages that only root may read are of no use.  The
# last line of its output is a record for the host; TensorFlow's own talk is shown where it fails, and
# what Keras writes into its home goes.
USER 10001:10001
RUN mkdir /tmp/preflight; status=0; \
    HOME=/tmp/preflight python3 -m suite.worker.session.preflight 2>/tmp/preflight/said || status=$?; \
    if [ $status -ne 0 ]; then tail -n 3 /tmp/preflight/said >&2; fi; \
    rm -r /tmp/preflight; \
    exit $status

USER 0:0
RUN python3 -m compileall -q --invalidation-mode unchecked-hash /opt/crossover/suite
USER 10001:10001
ENTRYPOINT ["python3", "-m", "suite.worker"]
