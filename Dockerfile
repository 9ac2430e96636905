# The image of every part of Pawl that is Python: the worker by default, receiver, model and registration by another command.
# Wheels only, by hash: the slim image has no compiler, and what is installed is what was tested.
FROM python:3.12-slim

WORKDIR /app

# First the packages: they change less often than the code, so a change of code rebuilds only the last layers.
COPY requirements.lock ./
RUN python -m pip install --no-cache-dir --disable-pip-version-check --require-hashes --only-binary :all: -r requirements.lock

# State of the mocks: a volume that is mounted here gets this owner. A number and not a name for the user, so that no tool
# for accounts is needed.
RUN mkdir /data && chown 10001:10001 /data

COPY tools ./tools
COPY services ./services
COPY mocks ./mocks
# Compiled here, since the user below may not write: a worker that starts faster recovers faster.
RUN python -m compileall -q tools services mocks

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
CMD ["python", "-m", "services"]
