"""No page and no table names a machine, a person or a place, whatever a campaign's documents hold."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

import pytest

from suite.report.produce import build_report
from suite.report.render.forms import keep_arms
from suite.report.render.markdown import render_page
from suite.report.render.plain import show_plainly, show_privately
from suite.report.render.terminal import render_lines
from suite.report.text.page import Code, Figure, Limits, Page, Runs, Strong
from tests import synthetic
from tests.changes import invoke, lose, plant, tell
from tests.rendering import render_html, study
from tests.report.reading import fake_pictures

DIGEST = f"@sha256:{'b' * 64}"
PRIVATE = {
    "a registry": "registry.acme.example:5000",
    "whose image it is": "acme/secret-team",
    "a mirror": "mirror.acme.internal",
    "a host": "quartz-17.lab.internal",
    "a host, as a fact": "basalt-4",
    "a person": "mallory",
    "a home": "/home/mallory",
    "a mount": "/mnt/team-red",
    "an address": "10.11.12.13",
    "a GPU": "01234567-89ab-cdef-0123-456789abcdef",
    "a container": "f" * 32,
    "a secret": "hf_abcdefghijklmnopqrstuvwx",
}
"""By what it is, what stands in the documents and must not stand in what is handed on."""

BASES = {
    f"{PRIVATE['a registry']}/{PRIVATE['whose image it is']}/python:3.12{DIGEST}": "python:3.12",
    f"registry.acme.example/python{DIGEST}": "",
    f"{PRIVATE['whose image it is']}/python{DIGEST}": "",
    f"{PRIVATE['a mirror']}/library/python{DIGEST}": "",
}
PUBLIC = (
    f"python{DIGEST}",
    f"docker.io/library/python:3.12{DIGEST}",
    f"nvcr.io/nvidia/tensorflow:25.02-tf2-py3{DIGEST}",
    f"tensorflow/tensorflow:2.21.0-gpu{DIGEST}",
    f"crossover/base:stand-in{DIGEST}",
    "make bench CUDA_IMAGE=nvcr.io/nvidia/tensorflow:25.02-tf2-py3",
    "make bench BASE_IMAGE=crossover/base:stand-in RUN=path/to/made-up",
    *("cpu@2.20", "cuda@2.16-hidden", "cpu@keras-3.12-twin", "cpu@onednn-off", "cuda@2.16.1:1"),
    "make bench ARMS='cpu cpu@2.20-twin cpu@onednn-off' BASE_IMAGE=mirror/python:{python}-slim",
    "tf.device('/GPU:0') and /job:localhost/replica:0/task:0/device:GPU:0",
    "9.10.2.21",
)


@cache
def write() -> dict[str, str]:
    """The files of a campaign in whose plan and documents all of it stands, wherever a text may."""
    base = next(iter(BASES))
    spoken = ("a mirror", "a host", "a home", "a mount", "an address", "a container", "a secret")
    everything = ", ".join(
        [*(PRIVATE[what] for what in spoken), base, "mallory@basalt-4", f"GPU-{PRIVATE['a GPU']}"]
    )
    campaign = synthetic.make_campaign(blocks=3)
    lost, failed = campaign.cells[0].id, campaign.cells[1].id
    campaign = replace(
        campaign,
        command=f"make bench BASE_IMAGE={base.partition('@')[0]} HOST=ssh://mallory@10.11.12.13 SEED=7",
        not_run={"cuda-hidden": f"looked at {everything}"},
        stopped=f"the engine at {everything} is gone",
    )
    documents = synthetic.make_documents(campaign, samples=3)
    tagged = base.partition("@")[0]
    origin = f"the suite laid on {tagged} (CUDA_IMAGE): not from the lock"
    image = replace(
        documents[0].invocation.image, base=f"{tagged} (sha256:{'d' * 64})", origin=origin
    )
    facts = {
        "os.hostname": PRIVATE["a host, as a fact"],
        "environment.LD_PRELOAD": f"{PRIVATE['a home']}/lib.so",
        "environment.HF_TOKEN": PRIVATE["a secret"],
        "engine.note": everything,
        "cuda.cudnn": "9.10.2.21",
    }
    for change in (invoke(image=image), tell(facts)):
        documents = plant(documents, change)
    why = f"cannot read from {everything}"
    documents = plant(documents, lose(lost, "failed", why), "cuda")
    documents = plant(documents, lose(failed, "skipped", why), "cpu")
    documents = [replace(document, absent={"telemetry": why}) for document in documents]
    analysis = study(campaign, documents)
    report = build_report(analysis)
    html = render_html(analysis, fake_pictures(analysis))
    return {**report.files, "report.html": html, "the terminal": report.terminal}


@pytest.mark.parametrize(
    "name", ["brief.md", "report.md", "report.html", "cells.csv", "the terminal"]
)
def test_what_is_private_is_in_no_file_that_is_handed_on(name: str) -> None:
    text = write()[name]
    assert [what for what, secret in PRIVATE.items() if secret in text] == []
    assert len(text) > 500


IMAGE = f"registry.acme.internal:5000/team/secret-img:2 (sha256:{'d' * 64})"


@pytest.mark.parametrize(
    "runs", [(f"laid on {IMAGE}",), (Strong("laid on"), " regis", IMAGE[5:]), (Code(IMAGE),)]
)
def test_a_text_that_is_cut_has_lost_what_is_private_before(runs: Runs) -> None:
    for most in range(1, 2 * len(IMAGE)):
        page = Page()
        page.paragraph(*runs)
        page.bullets([runs])
        page.columns("".join(map(str, runs[-1:])), [(IMAGE, [IMAGE])])
        page.figure("plot", IMAGE, IMAGE)
        page.heading(IMAGE)
        page.shorten(Limits(paragraph=most, cell=most, strong=most, rows=1, hide=show_privately))
        shown = render_page(page) + render_lines(_without_figures(page))
        assert not re.search("acme|team|secret|5000/", shown), most


def _without_figures(page: Page) -> Page:
    page.blocks = [block for block in page.blocks if not isinstance(block, Figure)]
    return page


def test_what_says_which_software_it_was_stays() -> None:
    html = write()["report.html"]
    for kept in (
        *("hidden-registry:3.12 (sha256:dddd", "laid on hidden-registry:3.12 (CUDA_IMAGE)"),
        *("hidden-registry:3.12@sha256:bbbb", "BASE_IMAGE=hidden-registry:3.12", "9.10.2.21"),
    ):
        assert kept in html


@pytest.mark.parametrize("base", BASES)
def test_of_a_private_image_its_digest_stays(base: str) -> None:
    shown = show_privately(base)
    assert shown.endswith(DIGEST)
    assert shown.startswith("hidden-registry")
    assert not [secret for secret in PRIVATE.values() if secret in shown]


@pytest.mark.parametrize("text", PUBLIC)
def test_what_everybody_knows_stays(text: str) -> None:
    assert show_privately(text) == show_plainly(text) == text


ARMS = (
    "cpu",
    "cpu@nightly",
    "cuda@rc.one",
    "amd-cpu@nightly",
    "cpu@x.de",
    "cuda@rocm.eu:1",
    "rack.cpu.de",
)


@pytest.mark.parametrize(
    "text",
    [
        "cpu@nightly",
        "cpu@nightly-twin",
        "cuda@rc.one",
        "is cuda@rc.one-hidden",
        "'cpu cpu@nightly'",
        "amd-cpu@nightly has 2.3",
        "amd-cpu@nightly-twin/cpu@x.de",
        "on cpu@x.de (cpu@x.de-again).",
        "cpu@x.de-hidden:1, cuda@rocm.eu:1 and cuda-rocm.eu-1-twin-01-r1.json",
        "rack.cpu.de",
        "ARMS='cpu rack.cpu.de' in logs/cpu-x.de-03.log",
        "built from docker/cpu-x.de.txt: cpu-x.de.txt@sha256:abc",
    ],
)
def test_the_name_of_an_arm_is_nobodys_address(text: str) -> None:
    assert "hidden-" in show_privately(text)
    with keep_arms(ARMS):
        assert show_privately(text) == text
    assert "hidden-" in show_privately(text)


@pytest.mark.parametrize(
    "address",
    [
        *("cpu@quartz-17", "cpu@nightly.acme.example", "cpu@nightly-box", "xcpu@nightly"),
        *("mallory@nightly", "mallory@quartz", "mallory@acme.example", "cuda@rc.one.example"),
        *("mallory@x.de", "cpu@x.de.acme.org", "me.cpu@x.de", "ssh://cpu@x.de", "cpu@x.de:srv/a"),
        *("https://me:cpu@x.de/a", "www.rack.cpu.de", "me@rack.cpu.de", "http://rack.cpu.de/a"),
        *("rack.cpu.de:8080", "/home/mallory/cpu@x.de", "password=cpu@x.de", "x.de", "rocm.eu"),
    ],
)
def test_what_is_no_arms_name_stays_hidden_beside_arms(address: str) -> None:
    with keep_arms(ARMS):
        assert address not in show_privately(f"from {address} it came")


@pytest.mark.parametrize(
    "name", ["https://b.example/x", "[a](http://b.example)", "", "/home/mallory"]
)
def test_what_can_be_no_arms_name_is_hidden_though_it_is_said_to_be_one(name: str) -> None:
    text = f"{name} of me@acme.example"
    shown = show_privately(text)
    with keep_arms(["cpu", name]):
        assert show_privately(text) == shown
