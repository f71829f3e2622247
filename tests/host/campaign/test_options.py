"""What a person writes is parsed once, and what follows from it is in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from suite.errors import UsageError
from suite.host.campaign.options import Options, parse_price


def test_what_was_not_given_is_the_default() -> None:
    parsed = Options.parse({"engine": "auto", "gpu": None, "blocks": None})
    assert parsed == Options(words={"engine": "auto"})
    assert (parsed.list_settings(), parsed.format_command()) == ({}, "make bench")


def test_each_text_has_its_type() -> None:
    parsed = Options.parse(
        {
            "arms": "cuda,cpu",
            "only": "matmul.* mlp.*",
            "blocks": 4,
            "cpus": "0-2,8",
            "budget": "20m",
            "sustain": "120s",
            "wait": "90s",
            "stop_if": "unsound",
            "price": "0.53 EUR",
            "results": Path("/results"),
        }
    )
    assert (parsed.arms, parsed.only) == (("cuda", "cpu"), ("matmul.*", "mlp.*"))
    assert (parsed.blocks, parsed.cpus) == (4, (0, 1, 2, 8))
    assert (parsed.budget_s, parsed.wait_s, parsed.stop_if_unsound) == (1200.0, 90.0, True)
    assert parsed.sustain_s == 120.0
    assert (parsed.price, parsed.currency, parsed.results) == (0.53, "EUR", Path("/results"))
    assert parsed.format_command() == (
        "make bench ARMS=cuda,cpu ONLY='matmul.* mlp.*' BLOCKS=4 CPUS=0-2,8 BUDGET=20m SUSTAIN=120s "
        "STOP_IF=unsound PRICE='0.53 EUR'"
    )


def test_what_changes_is_parsed_anew_and_nothing_else() -> None:
    before = Options.parse({"gpu": "1", "cuda_image": "x:1", "seed": 7})
    after = before.give(gpu="0:1", cuda_image=None)
    assert (after.gpu, after.cuda_image, after.seed) == ("0:1", None, 7)
    assert after.list_settings() == {"gpu": "0:1"}
    assert before.list_settings() == {"cuda_image": "x:1", "gpu": "1"}
    with pytest.raises(UsageError, match="GPU='0,1'"):
        before.give(gpu="0,1")


def test_versions_take_the_place_of_arms() -> None:
    parsed = Options.parse({"versions": "2.20,2.21"})
    assert (parsed.arms, parsed.versions) == (("auto",), ("2.20", "2.21"))
    assert parsed.format_command() == "make bench VERSIONS=2.20,2.21"
    with pytest.raises(UsageError, match="ARMS and VERSIONS"):
        parsed.give(arms="cpu")


def test_what_names_a_place_or_a_machine_is_a_hash() -> None:
    parsed = Options.parse({"local_python": "/home/me/python", "gpu": "GPU-1234", "label": "x"})
    settings = parsed.list_settings()
    assert set(settings) == {"local_python", "gpu"}
    assert all(value.startswith("sha256:") for value in settings.values())
    assert parsed.format_command() == f"make bench GPU={settings['gpu']} LABEL=x"


@pytest.mark.parametrize("text", ["g5.xlarge", "Standard_NC24ads_A100_v4", "GPU-8xCPU-64GB-1xL40S"])
def test_a_type_is_kept_as_it_was_stated(text: str) -> None:
    parsed = Options.parse({"type": text})
    assert (parsed.type, parsed.list_settings()) == (text, {"type": text})
    assert parsed.format_command() == f"make bench TYPE={text}"


@pytest.mark.parametrize("text", ["", "g5 xlarge", "$(id)", "-g5", "x" * 201])
def test_what_no_cloud_calls_a_type_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not the name of a machine type"):
        Options.parse({"type": text})


@pytest.mark.parametrize(
    ("text", "price"),
    [("0.53", (0.53, "USD")), ("0.53 EUR", (0.53, "EUR")), (" 2  CHF ", (2.0, "CHF"))],
)
def test_a_price_may_name_its_currency(text: str, price: tuple[float, str]) -> None:
    assert parse_price(text) == price


@pytest.mark.parametrize("text", ["", "0", "nan", "inf", "1e300", "EUR 1", "0,53"])
def test_what_is_not_a_price_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a price per hour") as caught:
        parse_price(text)
    assert 'PRICE="0.53 EUR"' in caught.value.remedy


@pytest.mark.parametrize("text", ["1 eur", "1 ÄÖÜ", "1 EUR USD"])
def test_a_currency_that_is_not_a_code_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="is not a currency code"):
        parse_price(text)
