"""What names a machine, a person or a place by its form, wherever it stands in a text.

Hashes stay: a commit has 40 hexadecimal digits, a content's hash and an image 64, a receipt 6 or so; a
machine id has 32, and every other id a prefix, a label or separators of its own.
"""

from __future__ import annotations

import re

_PUBLIC = "bin|boot|cuda-cache|dev|etc|lib|lib64|opt/crossover|proc|sbin|scratch|sys|usr"
"""Where paths tell of an image or a system, and of nobody."""

_SITES = "|".join(
    (
        *(
            "apache.org",
            "cyclonedx.org",
            "debian.org",
            "docker.com",
            "docker.io",
            "ghcr.io",
            "github.com",
        ),
        *(
            "gnu.org",
            "json-schema.org",
            "keras.io",
            "kernel.org",
            "nvcr.io",
            "nvidia.com",
            "pypi.org",
        ),
        *("python.org", "pythonhosted.org", "quay.io", "spdx.org", "tensorflow.org", "tf.io"),
        *("ubuntu.com", "w3.org"),
    )
).replace(".", r"\.")
_PUBLIC_SITE = rf"(?:[\w-]{{1,63}}\.){{0,8}}(?:{_SITES})\b"
"""Sites that everybody uses; ``tf.io`` is a module's name."""

_PROJECTS = "|".join(
    (
        *("containerd", "containers", "docker", "keras-team", "moby", "numpy", "nvidia"),
        *("opencontainers", "openxla", "python", "tensorflow"),
    )
)
"""Whose repositories stand in messages of the software that is measured."""

_ENDINGS = (
    "local|lan|internal|intranet|corp|home|localdomain|com|net|org|edu|gov|mil|cloud|io|ai"
    "|au|br|ca|ch|cn|de|es|eu|fr|jp|kr|nl|ru|se|uk"
)

_SITE_OR_IP = r"(?:(?:[\w-]{1,63}\.){1,8}[a-z]{2,63}|\d{1,3}(?:\.\d{1,3}){3})"

_AWS = "i|ins|eni|vol|snap|ami|vpc|subnet|sg|lt|fs|eipalloc|fleet|sir|r"
_RENTED = (
    "account|customer|droplet|instance|linode|machine|pod|project|server|subscription|tenant|vm"
)

_IS = r"""["']?\s*[:=#]+\s*["']?"""
"""Between a label and its value, in prose as in JSON."""

_LABEL = r"(?<![a-z0-9])"
"""Where a label begins: of a variable's name it may be the last words, as in WANDB_API_KEY."""

_KEYS = "access|account|api|auth|private|secret|signing"
_PASSES = "access|api|auth|bearer|github|gitlab|hf|jupyter|session"
_SECRETS = rf"password|passwd|passphrase|secret|(?:{_KEYS})[\s_-]?key(?:[\s_-]?id)?|(?:{_PASSES})[\s_-]?token"

_TIME = r"\d\d(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])-(?:[01]\d|2[0-3])(?:[0-5]\d){2}"
"""A day and a time in twice six digits."""

_FORMS = (
    # Secrets, and what leads to somebody's account.
    (r"\b(?:gh[oprsu]|hf|github_pat|glpat|xox[abps]|tskey|sk)[_-][\w-]{16,}", "secret"),
    (r"\b(?:AKIA|ASIA)[0-9A-Z]{16}\b", "secret"),
    (r"\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?", "secret"),
    (
        rf"{_LABEL}(?:{_SECRETS}){_IS}[^\s\"',;]+",
        "secret",
    ),
    (
        r"\b(?:ssh-(?:rsa|dss|ed25519)|ecdsa-sha2-\w+|sk-ssh-\S+)\s+[A-Za-z0-9+/=]{16,}(?:\s+\S+@\S+)?",
        "key",
    ),
    (r"\bSHA256:[A-Za-z0-9+/]{43}(?![A-Za-z0-9+/])", "key"),
    # Addresses.
    (rf"\bgithub\.com/(?!(?:{_PROJECTS})\b)[\w./-]+", "address"),
    (
        rf"\b(?:tcp|ssh|unix|file|npipe)://\S+|\b(?:https?|git|s3|gs)://(?!{_PUBLIC_SITE})\S+",
        "address",
    ),
    (r"\bhttps?://[^\s/@]+@\S+", "address"),
    # A package's version behind its name is none.
    (
        rf"(?<![\w/.+-])[\w.+-]{{1,64}}@{_SITE_OR_IP}\b(?::[\w~][\w./~-]*)?",
        "address",
    ),
    (r"(?<![\w.@/-])[a-z_][\w.-]{0,31}@[a-z][\w-]{0,62}(?![\w.@:-])", "address"),
    (r"(?<![\w:.-])[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5,19}(?![\w:-])", "address"),
    # The same in other groups, as switches write it; in the name of a network's card; and InfiniBand's, which
    # has 16 digits.  Four groups with colons that begin with a maker's number are a PCI device's ids.
    (r"(?<![\w.])[0-9a-f]{4}(?:\.[0-9a-f]{4}){2,3}(?![\w.])", "address"),
    (r"(?<![\w.-])[0-9a-f]{4}(?:-[0-9a-f]{4}){2}(?![\w-])", "address"),
    (rf"(?<![\w.-])(?!{_TIME})[0-9a-f]{{6}}-[0-9a-f]{{6}}(?![\w-])", "address"),
    (rf"{_LABEL}mac(?:[\s_-]?addr(?:ess)?)?{_IS}[0-9a-f]{{12}}\b", "address"),
    (r"\b(?:en|ib|sl|wl|ww)x[0-9a-f]{12}\b", "address"),
    (r"(?<![\w:])(?!10de:|1002:|15b3:|8086:)[0-9a-f]{4}(?::[0-9a-f]{4}){3}(?![\w:])", "address"),
    # Ids of machines, of their parts, and of what a cloud rents out.
    (r"(?<![0-9a-f])(?<!urn:uuid:)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-f])", "uuid"),
    (r"\b(?:GPU|MIG)-[0-9a-f]{8}[0-9a-f-]*\b", "uuid"),
    (r"(?<![\w:])[0-9a-f]{32}(?!\w)", "uuid"),
    (
        rf"\b(?:{_AWS})-(?=[a-z]*\d)(?:[0-9a-f]{{8}}|[0-9a-f]{{17}}|[0-9a-z]{{19,22}})\b",
        "id",
    ),
    (r"\b(?:disk|eni|ins|lhins|subnet|vpc)-(?=[a-z]*\d)[0-9a-z]{8}\b", "id"),
    (r"\barn:aws[\w-]*:\S+|\bocid1\.[\w.-]+", "id"),
    (r"\b(?:projects|subscriptions|resourcegroups)/[\w.:-]+(?:/[\w.-]+)*", "id"),
    # A machine's number in Google's cloud; the largest number that a kernel writes has as many digits.
    (r"(?<![\w.])(?!92233720368547)[1-9]\d{17,19}(?![\w.])", "id"),
    (
        rf"{_LABEL}(?:{_RENTED})[\s_-]?(?:id|name|number){_IS}[\w.:-]+",
        "id",
    ),
    (
        rf"{_LABEL}(?:serial(?:[\s_-]?(?:number|no\.?))?|asset[\s_-]?tag|service[\s_-]?tag|s/n){_IS}[\w-]+",
        "serial",
    ),
    # What names a disk or its port for the whole world, as udev and smartctl write it.
    (r"\b(?:nvme-)?(?:eui|naa)\.[0-9a-f]{16,32}\b|\bscsi-3[0-9a-f]{16,32}\b", "serial"),
    (r"\bwwn-(?:0x)?[0-9a-f]{16,32}\b", "serial"),
    # And InfiniBand's once more; what begins otherwise is an address in memory, or a mask.
    (r"\b0x(?!0000|ffff)[0-9a-f]{16}\b", "address"),
    # Hosts and persons.
    (rf"{_LABEL}(?:host[\s_-]?name|node[\s_-]?name){_IS}[\w.-]+", "host"),
    (rf"{_LABEL}(?:node[\s_-]?list|submit[_-]host){_IS}[\w.,\[\]-]+", "host"),
    (rf"{_LABEL}(?:user[\s_-]?name|logname|(?:job|sudo)_user){_IS}[\w.-]+", "user"),
    (r"\bip-\d{1,3}(?:-\d{1,3}){3}(?:\.[\w-]+)*", "host"),
    (r"(?<![\w./:@=-])(?!localhost:)[a-z][\w-]*:\d{4,5}(?=/)", "host"),
    (
        rf"\b(?!{_PUBLIC_SITE})[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{0,8}}\.(?:{_ENDINGS})\b",
        "host",
    ),
    (r"\b(?:ghcr|quay|docker)\.io/(?!(?:library|nvidia|tensorflow)/)[\w.-]+(?=/)", "host"),
    # Paths.
    (r"/dev/disk/by-[\w-]+/\S+", "path"),
    (r"""\b[a-z]:\\[^\s"'<>|]+|\\\\[\w.-]+\\[^\s"'<>|]+""", "path"),
    (r"(?<![\w/~.-])~[a-z_][\w.-]*(?:/[\w.@+~-]+)*", "path"),
    (rf"(?<![\w.:/#@~*)\]])/(?!/|(?:{_PUBLIC})(?:/|\b))[\w.@+~-]+(?:/[\w.@+~-]+)*", "path"),
)

FORMS = tuple((re.compile(pattern, re.IGNORECASE), word) for pattern, word in _FORMS)
"""What is recognised by its form, and what it is, in the order in which it is looked for."""
