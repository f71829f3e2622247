"""The line of a log that says why: for what stops a machine before the suite runs there, which writes its
own reason.

Kinds of decisive lines stand in an order: what is a consequence of another (a closed connection, `make: ***`)
comes after it.  The last match of the first kind that matches is the reason.  Pure.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Reason:
    """What went wrong, and what to do about it, as far as that is known."""

    what: str
    remedy: str = ""


@dataclass(frozen=True, kw_only=True)
class Kind:
    """Lines that match ``pattern``: in what words, with the groups of the match (else the line itself),
    and what to do."""

    pattern: re.Pattern[str]
    remedy: str
    what: str = ""


def _kind(pattern: str, remedy: str, what: str = "") -> Kind:
    return Kind(pattern=re.compile(pattern, re.IGNORECASE), remedy=remedy, what=what)


_KEY = (
    "`ssh -i KEY USER@HOST` must work from here without prompting: ansible_user and "
    "ansible_ssh_private_key_file of the inventory say who and with what; the key of a jump host belongs "
    "in ~/.ssh/config or in the agent"
)
_ROOM = "make room there (`df -h`, `docker system df`) and run it again: it goes on where it was"
_WAY = (
    "check that the machine is on, that ansible_host and ansible_port are right, and that the port is open "
    "to your address"
)
_JUMP = (
    "`cd fleet/ansible && ssh -F ssh.cfg USER@JUMPHOST` says why: the key for it belongs in ~/.ssh/config "
    "or in the agent; it must allow forwarding (AllowTcpForwarding in its sshd_config) and reach that address"
)
_MIRROR = (
    "open the way to it, or name a mirror: `mirror=https://…/simple` in the inventory, elsewhere "
    "PIP_INDEX_URL in the environment"
)
_REMOVE = "ssh-keygen -f .known_hosts -R ADDRESS"
_DOCKER_GROUP = (
    "`sudo usermod -aG docker USER` on the machine, then log in again (Ansible keeps its connection for a "
    "minute: wait that long); or ENGINE=local, without containers"
)

KINDS = (
    _kind(
        r"host key (?:for|of) (?P<host>\S+) has changed|REMOTE HOST IDENTIFICATION HAS CHANGED",
        "if it was reinstalled, or the address is another machine's now, remove the old key: "
        "`cd fleet/ansible && {remove}`; if you don't know why it changed, find out first",
        "its host key is not the one of the last time",
    ),
    _kind(
        r"UNPROTECTED PRIVATE KEY FILE|(?:Identity file|no such identity|Load key).*",
        "ansible_ssh_private_key_file must name a private key that only you can read (`chmod 600 KEY`)",
    ),
    _kind(r"Permission denied \((?:publickey|password|gssapi|keyboard|hostbased).*", _KEY),
    _kind(r"Permission denied, please try again", _KEY),
    _kind(r"Too many authentication failures", "name the key: ansible_ssh_private_key_file"),
    _kind(
        r"Host key verification failed",
        "nobody has accepted the key of that host yet, or of the jump host before it: log in once by hand, "
        "`cd fleet/ansible && ssh -F ssh.cfg USER@HOST`",
    ),
    _kind(r"Could not resolve hostname", "give its address as ansible_host in the inventory"),
    _kind(r"(?:stdio forwarding|channel \d+: open) failed|administratively prohibited", _JUMP),
    # What ssh says, and ssh alone: pip and docker on a machine that it reached call their troubles the same.
    _kind(r"^ssh: connect to host |^Connection timed out during banner exchange", _WAY),
    _kind(r"UNKNOWN port 65535", _JUMP, "the jump host does not let us through"),
    _kind(
        r"^(?:kex|ssh)_exchange_identification|^Connection (?:closed|reset) by"
        r"|^Connection to \S+ port \d+ timed out|^Timeout, server \S+ not responding",
        _WAY,
    ),
    _kind(r"No space left on device|Disk quota exceeded|\bno space: ", _ROOM),
    _kind(
        r"Read-only file system",
        "the disk may be broken (`dmesg`): rent another machine; in a container (Apptainer, a pod) the "
        "folder must be on a writable mount",
    ),
    _kind(r"permission denied .*docker.*sock|docker.*sock.*permission denied", _DOCKER_GROUP),
    _kind(
        r"Cannot connect to the Docker daemon",
        "`sudo systemctl start docker` there; or ENGINE=local, without containers",
    ),
    _kind(
        r"(?:a password is required|Missing sudo password|sudo: a terminal is required)",
        "nothing here needs sudo: leave ansible_become out of the inventory",
    ),
    _kind(
        r"^(?:git|make|python3\S*|tar|flock) is missing|ensurepip"
        r"|(?:\S*python3?|git|make|tar|flock): (?:command )?not found",
        "`sudo apt-get install git make python3-venv tar util-linux` on the machine",
    ),
    _kind(
        r"Python 3\.\d+ or newer is needed.*|requires (?:a different Python|python)",
        "install a newer one, and put its folder first in the PATH of that user's ssh sessions",
    ),
    _kind(
        r"Could not find a version that satisfies|No matching distribution found|Max retries exceeded"
        r"|\bHTTPS?ConnectionPool\(|\bRetry\(total=|\bpip\._vendor\S+Error"
        r"|Temporary failure in name resolution|Could not connect to .*pypi|certificate verify failed",
        _MIRROR,
    ),
    _kind(
        r"\bOut of memory\b|\boom[-_]kill|MemoryError|Cannot allocate memory|^Killed$|rc=137",
        "use a machine with more memory, or stop what else runs there",
    ),
    _kind(r"^\s*[✗X] \w.*", ""),
    _kind(r"^\w+(?:\.\w+)*(?:Error|Exception|Interrupt)\b.*", ""),
)
"""The kinds of decisive lines, the most decisive first."""

_OURS = re.compile(r"^(?:crossover|fleet/\w+): (?P<what>.+)")
_REMEDY = re.compile(r"^\s+what to do: (?P<remedy>.+)")

_NOISE = re.compile(
    r"^make(?:\[\d+\])?: \*\*\*|non-zero return code|^Traceback|see above|^Task failed:? *$|^@+$"
    r"|^Shared connection to|^Connection to \S+ closed|^Warning: Permanently added|module_std(?:out|err)",
    re.IGNORECASE,
)
"""Lines that only tell that something went wrong."""

_SAYS_SO = re.compile(
    r"\b(?:errors?|fatal|denied|refused|can(?:no|')t|fail(?:ed|ure)|no such|not found|unable|timed out|"
    r"invalid|missing)\b",
    re.IGNORECASE,
)

_BEFORE = re.compile(
    r"^(?:(?:Task failed|Action failed|"
    r"Data could not be sent to remote host \S+ Make sure this host can be reached over ssh|"
    r"Failed to connect to the host via ssh): *)+",
    re.IGNORECASE,
)
"""What an engine puts before somebody else's words."""

_ELSEWHERE = {
    r"`?(?:make bench )?\bRESUME(?:=[^\s`);,]*)?`? goes on(?: with a campaign)?": (
        "run the same command again: it goes on where it was"
    ),
    r"`?(?:make bench )?\bRESUME(?:=[^\s`);,]*)?`?": "run the same command again",
    r"name another folder with RESULTS=": "use a folder elsewhere",
}
"""Variables of `make bench` that `fleet/bench` refuses, and what takes their place."""


def find_reason(text: str) -> Reason:
    """Why, of all that was said; never nothing."""
    lines = list(_split(text))
    for number in reversed(range(len(lines))):
        if ours := _OURS.match(lines[number]):
            return Reason(what=ours["what"], remedy=_find_remedy(lines, number))
    for kind in KINDS:
        for number in reversed(range(len(lines))):
            if kind.pattern.search(lines[number]):
                return _describe_line(kind, lines, number)
    telling = [line.strip() for line in lines if not _NOISE.search(line.strip())]
    saying = [line for line in telling if _SAYS_SO.search(line)]
    what = saying[:1] or telling[-1:] or [line.strip() for line in lines[-1:]]
    return Reason(what="".join(what) or "no reason given")


def word_remedy(remedy: str) -> str:
    """What the suite says to do, as it is done in a fleet, whose engine names the folder."""
    for pattern, words in _ELSEWHERE.items():
        remedy = re.sub(pattern, words, remedy)
    return remedy


def _split(text: str) -> Iterator[str]:
    """The lines that say anything, without what an engine puts before them."""
    for line in text.replace("\\r\\n", "\n").replace("\\n", "\n").splitlines():
        if said := _BEFORE.sub("", line).rstrip():
            yield said


def _find_remedy(lines: list[str], number: int) -> str:
    """What the text itself says to do, in the line below this one; empty: it does not."""
    below = "".join(lines[number + 1 : number + 2])
    return match["remedy"] if (match := _REMEDY.match(below)) else ""


def _describe_line(kind: Kind, lines: list[str], number: int) -> Reason:
    """The reason of this kind that stands in that line, with the remedy that the text itself gives below."""
    line = lines[number].strip()
    if line.endswith(":") and number + 1 < len(lines):
        line = f"{line} {lines[number + 1].strip()}"
    remedy = _find_remedy(lines, number) or kind.remedy
    # ssh knows the file, and the name by which it has the key.
    remove = [text for text in map(str.strip, lines) if text.startswith("ssh-keygen -f")] or [
        _REMOVE
    ]
    remedy = remedy.replace("{remove}", remove[-1])
    return Reason(what=f"{kind.what} ({line})" if kind.what else line, remedy=remedy)
