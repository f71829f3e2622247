"""What the C library's allocator is told, in a process of its own each time: it lasts as long as that."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suite.worker.scenario import allocator

FAULTS = """
import ctypes, resource
from suite.worker.scenario import allocator

libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = [ctypes.c_void_p]

def count(size):
    def once():
        block = libc.malloc(ctypes.c_size_t(size))
        ctypes.memset(block, 1, size)
        libc.free(block)
    once()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(50):
        once()
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

libc.mallopt(-3, 128 << 10)  # as TensorFlow 2.21 does
moved = count(1 << 20)
print(allocator.hold_still()["malloc"] is not None, moved, count(1 << 20), count(40 << 20))
"""


@pytest.mark.processes
def test_a_block_of_a_megabyte_is_kept_whatever_was_set_meanwhile() -> None:
    said = subprocess.run(
        [sys.executable, "-c", FAULTS], capture_output=True, text=True, check=True
    ).stdout.split()
    assert said[0] == "True"
    moved, held, large = map(int, said[1:])
    # Fetched anew at each of 50 calls, or not at all; of huge pages it takes one.
    assert min(moved, large) >= 50
    assert held < 50


OTHER = """
#include <stddef.h>
static char pool[1 << 28];
static size_t used;
void *malloc(size_t size) {
  size_t at = used + 16;
  *(size_t *)(pool + used) = size;
  used = (at + size + 15) & ~(size_t)15;
  return used < sizeof pool ? pool + at : NULL;
}
void free(void *block) {}
void *calloc(size_t count, size_t size) { return malloc(count * size); }
void *realloc(void *block, size_t size) {
  char *from = block, *to = malloc(size);
  size_t held = block ? *(size_t *)(from - 16) : 0;
  for (size_t i = 0; to && i < held && i < size; i++) to[i] = from[i];
  return to;
}
#ifdef MALLOPT
int mallopt(int name, int value) { return 1; }
#endif
"""
"""Another allocator, as jemalloc brings one; with a mallopt that does nothing, as gperftools' does."""


@pytest.mark.processes
@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("define", ["-DMALLOPT", "-UMALLOPT"])
def test_thresholds_that_nobody_uses_are_not_said_to_be_held(tmp_path: Path, define: str) -> None:
    source, library = tmp_path / "other.c", tmp_path / "libother.so.2"
    source.write_text(OTHER, encoding="utf-8")
    subprocess.run(["gcc", "-shared", "-fPIC", define, "-o", library, source], check=True)
    asked = "from suite.worker.scenario import allocator; print(allocator.hold_still()['malloc'])"
    environment = {**os.environ, "LD_PRELOAD": str(library)}
    said = subprocess.run(
        [sys.executable, "-c", asked], capture_output=True, text=True, check=True, env=environment
    ).stdout
    assert said == "None\n"


def test_a_library_without_thresholds_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allocator.ctypes, "CDLL", lambda _: object())
    assert allocator.hold_still() == {"malloc": None}


def test_only_a_tensorflow_that_sets_the_threshold_is_followed(tmp_path: Path) -> None:
    assert not allocator.follow_generator(str(tmp_path))
    (library,) = [path for path in _list_libraries() if "libc.so" in path][:1]
    (tmp_path / "libtensorflow_cc.so.2").symlink_to(library)
    assert not allocator.follow_generator(str(tmp_path))


def _list_libraries() -> list[str]:
    maps = Path("/proc/self/maps").read_text(encoding="utf-8").splitlines()
    return sorted({line.split()[-1] for line in maps if ".so" in line})
