"""Which of several versions is the older one."""

from __future__ import annotations

import pytest

from suite.analysis.versions.software import sort_versions


@pytest.mark.parametrize(
    ("versions", "order"),
    [
        ({"a": "2.21.0", "b": "2.9.3", "c": "2.16.1"}, "bca"),
        # As numbers, and what has more behind its numbers came before them.
        ({"a": "2.21.0", "b": "2.21.0rc1", "c": "2.20.0"}, "cba"),
        ({"a": "2.22.0-dev20261101", "b": "2.21.1", "c": "2.21.0"}, "cba"),
        # The same version under several names, and what is no version at all.
        ({"a": "2.21.0", "b": "2.21.0", "c": "2.20.0"}, "cab"),
        ({"a": "2.21.0", "b": "nightly", "c": "2." + "9" * 5000}, "bac"),
        # Where one is not known nobody knows the order.
        ({"a": "2.21.0", "b": "2.9.3", "c": None}, "abc"),
        ({"a": None, "b": None, "c": None}, "abc"),
    ],
)
def test_versions_of_tensorflow_are_in_their_order(
    versions: dict[str, str | None], order: str
) -> None:
    software = {arm: {"TensorFlow": text} if text else {} for arm, text in versions.items()}
    assert "".join(sort_versions("abc", software)) == order


def test_of_one_tensorflow_the_older_keras_comes_first() -> None:
    both = {
        "a": {"TensorFlow": "2.21.0", "Keras": "3.13.2"},
        "b": {"TensorFlow": "2.21.0", "Keras": "3.12.0"},
        "c": {"TensorFlow": "2.20.0", "Keras": "3.13.2"},
    }
    assert sort_versions("abc", both) == ("c", "b", "a")
    assert sort_versions("abc", {**both, "b": {"TensorFlow": "2.21.0"}}) == ("c", "a", "b")
    # An arm that no document tells of.
    assert sort_versions("abcd", both) == ("a", "b", "c", "d")
