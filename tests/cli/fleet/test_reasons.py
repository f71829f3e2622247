"""The line that says why, out of what real tools say; most texts are as public issue threads have them."""

# ruff: noqa: E501  messages as they are
from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

from suite.cli.fleet import reasons
from suite.cli.fleet.reasons import find_reason, word_remedy
from suite.fingerprint import SUITE

CHANGED = (
    "Failed to connect to the host via ssh: @@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@@\\r\\n"
    "@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\\r\\n"
    "IT IS POSSIBLE THAT SOMEONE IS DOING SOMETHING NASTY!\\r\\n"
    "The fingerprint for the ED25519 key sent by the remote host is\\nSHA256:abc.\\r\\n"
    "Offending ED25519 key in ./.known_hosts:4\\r\\n  remove with:\\r\\n"
    '  ssh-keygen -f "./.known_hosts" -R "[192.0.2.7]:2222"\\r\\n'
    "Password authentication is disabled to avoid man-in-the-middle attacks.\\r\\n"
    "192.0.2.7: Permission denied (publickey).\\r\\nHost key verification failed.\\r\\n"
)

DIARY = """\
base image: reused
crossover: can't write results/x/cpu-03.json: No space left on device
  what to do: make room there, and RESUME=… goes on with a campaign
crossover: another campaign is running on this machine: of root on gpu-1, process 99, since 2026-11-20 10:00 UTC (5 min), nearly done
  what to do: wait for it to end (WAIT=30m does), or stop it
what was measured is in results/x
"""

PIP = """\
WARNING: Retrying (Retry(total=0, connect=None, read=None, redirect=None, status=None)) after connection broken by '{broke}': /simple/click/
ERROR: Could not find a version that satisfies the requirement click==8.3.1 (from versions: none)
ERROR: No matching distribution found for click==8.3.1
make: *** [Makefile:118: .venv/host.stamp] Error 1
"""


@pytest.mark.parametrize(
    ("text", "what", "remedy"),
    [
        (CHANGED, "its host key is not the one of the last time", '-R "[192.0.2.7]:2222"'),
        (
            DIARY,
            "another campaign is running on this machine: of root on gpu-1, process 99, since",
            "WAIT=30m",
        ),
        (
            (
                "Failed to connect to the host via ssh: ubuntu@bastion: Permission denied (publickey).\r\n"
                "Connection closed by UNKNOWN port 65535"
            ),
            "ubuntu@bastion: Permission denied (publickey).",
            "the key of a jump host belongs",
        ),
        (
            (
                "channel 0: open failed: administratively prohibited: open failed\r\n"
                "stdio forwarding failed\r\nConnection closed by UNKNOWN port 65535"
            ),
            "stdio forwarding failed",
            "AllowTcpForwarding",
        ),
        (
            "Connection closed by UNKNOWN port 65535",
            "the jump host does not let us through",
            "ssh.cfg USER@JUMPHOST",
        ),
        (
            "Task failed: Failed to connect to the host via ssh: ssh: connect to host 192.0.2.9 port 22: Connection timed out",
            "ssh: connect to host 192.0.2.9 port 22: Connection timed out",
            "check that the machine is on",
        ),
        (
            "Failed to connect to the host via ssh: ssh: Could not resolve hostname gpu-9: Name or service not known",
            "ssh: Could not resolve hostname gpu-9: Name or service not known",
            "ansible_host",
        ),
        (
            (
                "WARNING: UNPROTECTED PRIVATE KEY FILE!\nPermissions 0644 for 'k' are too open.\n"
                "root@192.0.2.9: Permission denied (publickey)."
            ),
            "WARNING: UNPROTECTED PRIVATE KEY FILE!",
            "chmod 600",
        ),
        (
            (
                "failed to transfer file to /root/.ansible/tmp/x/tmp1:\n\n"
                "dd: error writing '/root/x': No space left on device\n1+0 records in\n0+0 records out"
            ),
            "dd: error writing '/root/x': No space left on device",
            "make room there",
        ),
        (
            (
                'Authentication or permission failure. Failed command was: ( umask 77 && mkdir -p "` echo ~/.ansible/tmp `" ), '
                "exited with result 1, stderr output: mkdir: cannot create directory ‘/root/.ansible’: No space left on device"
            ),
            "No space left on device",
            "make room there",
        ),
        (
            (
                "permission denied while trying to connect to the Docker daemon socket at unix:///var/run/docker.sock: Get "
                '"http://%2Fvar%2Frun%2Fdocker.sock/v1.47/version": dial unix /var/run/docker.sock: connect: permission denied'
            ),
            "permission denied while trying to connect to the Docker daemon socket",
            "usermod -aG docker",
        ),
        (
            (
                "setting up .venv (once)\nWARNING: Retrying (Retry(total=0)) after connection broken by "
                "'NewConnectionError(Temporary failure in name resolution)'\n"
                "ERROR: Could not find a version that satisfies the requirement click==8.3.1 (from versions: none)\n"
                "ERROR: No matching distribution found for click==8.3.1\nmake: *** [Makefile:118: .venv/host.stamp] Error 1"
            ),
            "ERROR: No matching distribution found for click==8.3.1",
            "PIP_INDEX_URL",
        ),
        (
            "python3-venv is missing: sudo apt-get install python3-venv\nmake: *** [Makefile:110: .venv/venv.stamp] Error 1",
            "python3-venv is missing: sudo apt-get install python3-venv",
            "apt-get install",
        ),
        (
            "Python 3.10 or newer is needed; name one with PYTHON=…\nmake: *** [Makefile:109: .venv/venv.stamp] Error 1",
            "Python 3.10 or newer is needed",
            "PATH",
        ),
        (
            (
                "✓ hashes        11 files as manifest.txt names them\n✗ documents     does not follow:\n"
                "    cpu-02.json: $.cells[3].samples_s: is not a number\nnon-zero return code"
            ),
            "documents does not follow: cpu-02.json: $.cells[3].samples_s: is not a number",
            "",
        ),
        (
            (
                'Traceback (most recent call last):\n  File "x.py", line 1, in <module>\n    main()\n'
                "suite.codec.Malformed: no\nValueError: could not convert\n"
            ),
            "ValueError: could not convert",
            "",
        ),
        (
            PIP.format(
                broke="NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f4a>: Failed to establish a new connection: [Errno 110] Connection timed out')"
            ),
            "ERROR: No matching distribution found for click==8.3.1",
            "PIP_INDEX_URL",
        ),
        (
            PIP.format(
                broke="NewConnectionError('<pip._vendor.urllib3.connection.HTTPSConnection object at 0x7f4a>: Failed to establish a new connection: [Errno 113] No route to host')"
            ),
            "ERROR: No matching distribution found for click==8.3.1",
            "PIP_INDEX_URL",
        ),
        (
            PIP.format(
                broke="ProtocolError('Connection aborted.', ConnectionResetError(104, 'Connection reset by peer'))"
            ),
            "ERROR: No matching distribution found for click==8.3.1",
            "PIP_INDEX_URL",
        ),
        (
            (
                'Traceback (most recent call last):\n  File "/x/pip/_vendor/urllib3/response.py", line 438, in _error_catcher\n'
                "pip._vendor.urllib3.exceptions.ProtocolError: (\"Connection broken: ConnectionResetError(104, 'Connection reset by peer')\", "
                "ConnectionResetError(104, 'Connection reset by peer'))\nmake: *** [Makefile:118: .venv/host.stamp] Error 2"
            ),
            "pip._vendor.urllib3.exceptions.ProtocolError",
            "PIP_INDEX_URL",
        ),
        (
            "fatal: unable to access 'https://example.org/x.git/': Failed to connect to example.org port 443: Connection timed out",
            "fatal: unable to access",
            "",
        ),
        (
            (
                'Data could not be sent to remote host "192.0.2.9". Make sure this host can be reached over ssh: '
                "Connection closed by 192.0.2.9 port 22\r\n"
            ),
            "Connection closed by 192.0.2.9 port 22",
            "check that the machine is on",
        ),
        (
            "Failed to connect to the host via ssh: Connection timed out during banner exchange\r\nConnection to UNKNOWN port 65535 timed out\r\n",
            "Connection timed out during banner exchange",
            "check that the machine is on",
        ),
        (
            "Failed to connect to the host via ssh: kex_exchange_identification: read: Connection reset by peer\r\nConnection reset by 192.0.2.9 port 22",
            "Connection reset by 192.0.2.9 port 22",
            "check that the machine is on",
        ),
        (
            "Failed to connect to the host via ssh: Timeout, server 192.0.2.9 not responding.",
            "Timeout, server 192.0.2.9 not responding.",
            "check that the machine is on",
        ),
        (
            "No ED25519 host key is known for 192.0.2.1 and you have requested strict checking.\r\nHost key verification failed.",
            "Host key verification failed",
            "`cd fleet/ansible && ssh -F ssh.cfg USER@HOST`",
        ),
        (
            "mkdir: cannot create directory '/crossover/results': Read-only file system",
            "Read-only file system",
            "writable mount",
        ),
        (
            "slurmstepd: error: Detected 1 oom_kill event in StepId=7.batch.\n",
            "oom_kill",
            "more memory",
        ),
        (
            "make: *** [Makefile:1: x] Error 2\nall was well until then",
            "all was well until then",
            "",
        ),
        ("fatal: not a git repository\nmake: *** [x] Error 128", "fatal: not a git repository", ""),
        ("", "no reason given", ""),
    ],
)
def test_the_decisive_line_is_the_reason(text: str, what: str, remedy: str) -> None:
    found = find_reason(text)
    assert what in " ".join(found.what.split())
    assert remedy in found.remedy


@pytest.mark.parametrize(
    ("suite", "fleet"),
    [
        (
            "make room there, and RESUME=… goes on with a campaign",
            "make room there, and run the same command again: it goes on where it was",
        ),
        (
            "Put the original file back, or remove it and measure again what it held (RESUME=…).",
            "Put the original file back, or remove it and measure again what it held (run the same command again).",
        ),
        (
            "begin anew: `make bench RESUME=results/X` goes on; CDI prevents it",
            "begin anew: run the same command again: it goes on where it was; CDI prevents it",
        ),
        (
            "use another machine; or RESUME without STOP_IF to continue on this one",
            "use another machine; or run the same command again without STOP_IF to continue on this one",
        ),
        (
            "make room there, or name another folder with RESULTS=",
            "make room there, or use a folder elsewhere",
        ),
        ("wait for it to end (WAIT=30m does), or stop it", None),
    ],
)
def test_what_to_do_is_what_a_fleet_takes(suite: str, fleet: str | None) -> None:
    """`fleet/bench` refuses RESUME and RESULTS: it finds its folder, and the campaign in it, by itself."""
    assert word_remedy(suite) == (fleet or suite)


def test_no_text_of_the_suite_sends_a_fleet_to_what_it_refuses() -> None:
    """Every text in the code that names one of the two."""
    refused = re.compile(r"\bRESUME\b|\bRESULTS=")
    texts = {
        node.value
        for path in SUITE.rglob("*.py")
        if path != Path(reasons.__file__)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    named = {text for text in texts if refused.search(text)}
    assert "make room there, and RESUME=… goes on with a campaign" in named
    assert not [text for text in named if refused.search(word_remedy(text))]
