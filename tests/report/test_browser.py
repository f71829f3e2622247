"""``report.html`` in a real browser, where there is one: nothing is refused, and the script runs."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from suite.report.collate import collate, draw
from tests.report.test_html import GOLDEN, parse

BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome")


def find_browser() -> str:
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    return found or pytest.skip("no Chromium here: the page was not opened in a browser")


@pytest.mark.processes
@pytest.mark.parametrize("name", ["two-arms", "troubled"])
def test_a_browser_shows_the_page_and_refuses_nothing(name: str, tmp_path: Path) -> None:
    browser = find_browser()
    page = tmp_path / "report.html"
    content = draw(collate(GOLDEN / name))["report.html"]
    assert isinstance(content, str)
    # What a picture is refused shows in no other way than that it has no size.
    probe = (
        "<script>window.addEventListener('load',()=>{document.title=[...document.images]"
        ".map(i=>i.naturalWidth>0).join()})</script>"
    )
    page.write_text(content, encoding="utf-8")
    words = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *(f"--user-data-dir={tmp_path / 'profile'}", "--enable-logging=stderr"),
        *("--virtual-time-budget=5000", "--dump-dom"),
    ]
    done = subprocess.run(
        [*words, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    complaints = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert complaints == []
    document = parse(done.stdout)
    buttons = [one for one in document.iter("button") if one.get("type") == "button"]
    assert len(buttons) > 10, "the script did not run under the policy"
    policy = content.partition('content="')[2].partition('"')[0]
    loose = content.replace(policy, "img-src data:").replace("</body>", f"{probe}</body>")
    page.write_text(loose, encoding="utf-8")
    done = subprocess.run(
        [*words, page.as_uri()], capture_output=True, text=True, timeout=120, check=True
    )
    title = parse(done.stdout).find("head/title")
    assert title is not None
    assert set((title.text or "").split(",")) <= {"true", ""}
