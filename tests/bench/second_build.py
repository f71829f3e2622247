"""A campaign of the CPU's image against a second build of the same source, made past every cache.

    python -m tests.bench.second_build [OPTIONS]

`make aa` measures one image against itself; two builds differ in their layers, their files' places on the
disk and whatever a build draws by chance.  Takes the options of `python -m suite bench`; `ARMS`, `GPU`
and `RESUME` mean nothing here.  The folder is one for `python -m suite record`.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from typing import Any, cast

import click

from suite.cli.conduct import conclude, engine_alone, run_campaign
from suite.cli.options import campaign_options, engine_options
from suite.cli.settings import read_bounds, read_request
from suite.host.campaign.arms import Arms, known_arms
from suite.host.campaign.request import plan_campaign
from suite.host.campaign.store import Store
from suite.host.docker.engine import DockerEngine
from suite.worker import scenarios


@click.command()
@campaign_options
@engine_options
def main(**given: Any) -> None:
    """Runs the campaign; its exit status is that of `make bench`."""
    first = known_arms()["cpu"]
    second = replace(first, name="cpu-rebuilt", image="cpu-rebuilt")
    arms = Arms(run=(first, second))
    words = shlex.join(["python", "-m", "tests.bench.second_build", *sys.argv[1:]])
    request = replace(read_request(given, again=True), command=words)
    drawn = plan_campaign(request, arms, scenarios.cells())
    given["engine"] = "docker"
    with engine_alone(given, read_bounds(given)) as here:
        engine, say = cast("DockerEngine", here.engine), here.terminal.say
        images = {
            first.image: engine.provide("cpu", say),
            second.image: engine.provide("cpu", say, fresh=True),
        }
        store = Store.create(here.results, drawn.id)
        run_campaign(here, store, drawn, arms, images)
    sys.exit(conclude(store))


if __name__ == "__main__":
    main()
