"""The line that says why, out of what real tools say; most texts are as public issue threads have them."""

# ruff: noqa: E501  messages as they are
from __future__ import annotations

import pytest

from suite.cli.fleet.reasons import find_reason

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
            "is the machine on",
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
                "suite.wire.Malformed: no\nValueError: could not convert\n"
            ),
            "ValueError: could not convert",
            "",
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
