"""The command lock: the images' hash locks, all of them anew or those of one more version."""

from __future__ import annotations

import click

from suite.cli.terminal import Terminal
from suite.errors import UsageError
from suite.host.provision.locks import add_version, renew_locks


@click.command()
@click.option(
    "--tensorflow", metavar="VERSION", help="the arms of this TensorFlow: 2.18, or 2.18.1"
)
@click.option(
    "--keras", metavar="VERSION", help="those of this Keras, on the newest TensorFlow for it"
)
def lock(tensorflow: str | None, keras: str | None) -> int:
    """Resolve the hash locks of the images anew; or make those of one more version, and its arms."""
    if tensorflow and keras:
        raise UsageError("TENSORFLOW and KERAS are an arm each", "give one of them")
    with Terminal() as terminal:
        if tensorflow or keras:
            variable = "TENSORFLOW" if tensorflow else "KERAS"
            add_version(variable, str(tensorflow or keras), terminal.say)
        else:
            renew_locks(terminal.say)
    return 0
