"""``report.html`` in a real browser, where there is one: nothing is refused, and the script works."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest

from suite.report.produce import build_report, draw
from tests.golden_campaigns import analyse_golden
from tests.report.reading import parse

BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome")

pytestmark = pytest.mark.processes


@pytest.fixture(scope="module")
def browser() -> str:
    path = next(filter(None, map(shutil.which, BROWSERS)), None)
    return path or pytest.skip("no Chromium here: the page was not opened in a browser")


def show(browser: str, folder: Path, html: str) -> tuple[Element, list[str]]:
    """The document as it stands after the page's script, and what the browser complained of."""
    page = folder / "report.html"
    page.write_text(html, encoding="utf-8")
    words = [
        *(browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage"),
        *(f"--user-data-dir={folder / 'profile'}", "--enable-logging=stderr"),
        *("--virtual-time-budget=5000", "--dump-dom", page.as_uri()),
    ]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, check=True)
    return parse(done.stdout), [line for line in done.stderr.splitlines() if "CONSOLE" in line]


def make_page(name: str) -> str:
    content = draw(build_report(analyse_golden(name)))["report.html"]
    assert isinstance(content, str)
    return content


def with_probe(html: str, script: str) -> str:
    """The page with a script of the test's own, and the policy that would forbid it taken away."""
    policy = html.partition('content="')[2].partition('"')[0]
    return html.replace(policy, "img-src data:").replace(
        "</body>", f"<script>window.addEventListener('load', () => {{ {script} }})</script></body>"
    )


@pytest.mark.parametrize("name", ["two-arms", "troubled"])
def test_a_browser_shows_the_page_and_refuses_nothing(
    browser: str, name: str, tmp_path: Path
) -> None:
    document, complaints = show(browser, tmp_path, make_page(name))
    assert complaints == []
    buttons = [button for button in document.iter("button") if button.get("type") == "button"]
    assert len(buttons) > 10, "the script did not run under the policy"


def test_pictures_are_shown(browser: str, tmp_path: Path) -> None:
    script = "document.title = [...document.images].map(one => one.naturalWidth > 0).join()"
    document, _ = show(browser, tmp_path, with_probe(make_page("two-arms"), script))
    title = document.find("head/title")
    assert title is not None
    shown = (title.text or "").split(",")
    assert set(shown) == {"true"}


def test_on_a_phone_only_tables_and_commands_are_wider_and_scroll_in_their_place(
    browser: str, tmp_path: Path
) -> None:
    script = """
        const frame = document.createElement("div");
        frame.style.width = "400px";
        frame.append(...document.body.children);
        document.body.style.margin = "0";
        document.body.append(frame);
        const wide = [...frame.querySelectorAll("*")]
          .filter((part) => part.getBoundingClientRect().right > 421)
          .map((part) => part.closest("table, pre")?.tagName ?? part.tagName);
        document.title = [...new Set(wide), frame.scrollWidth > 400 ? "the page" : ""].join();
    """
    document, _ = show(browser, tmp_path, with_probe(make_page("two-arms"), script))
    title = document.find("head/title")
    assert title is not None
    assert set((title.text or "").split(",")) == {"TABLE", ""}


def test_tables_are_sorted_by_their_numbers_and_filtered(browser: str, tmp_path: Path) -> None:
    script = """
        for (const button of document.querySelectorAll("thead th:nth-child(2) button")) button.click();
        for (const input of document.querySelectorAll("input")) {
          input.value = "CPU.";
          input.dispatchEvent(new Event("input"));
        }
    """
    document, complaints = show(browser, tmp_path, with_probe(make_page("two-arms"), script))
    assert complaints == []
    ordered = 0
    for table in document.iter("table"):
        cells = [row[1] for row in table.findall("tbody/tr")]
        values = [float(cell.get("data-value", "inf")) for cell in cells]
        if len(cells) > 2 and all(cell.get("class") == "n" for cell in cells):
            assert values == sorted(values)
            ordered += 1
    assert ordered >= 3
    rows = [row for row in document.iter("tr") if row.get("hidden") is not None]
    assert rows
    assert not any("cpu." in "".join(row.itertext()).lower() for row in rows)
    heads = [head.get("aria-sort") for head in document.iter("th")]
    assert "ascending" in heads
