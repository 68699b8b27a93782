"""Prepares a release, and prints its changes.

    release.py cut VERSION DATE    gives the unreleased changes and all packages this version
    release.py notes VERSION       prints the changes of a version from the changelog
    release.py collect FOLDER      copies the artifacts of several builds into one folder, with one list of checksums
"""

import hashlib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
UNRELEASED = "## [Unreleased]"


def once(text, pattern, replacement, where):
    text, count = re.subn(pattern, lambda _: replacement, text, count=1, flags=re.M)
    if not count:
        sys.exit(f"{where} has no place for the version: {pattern}")
    return text


def cut(version, date):
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f"not a version: {version}")
    changelog, manifest = ROOT / "CHANGELOG.md", ROOT / "Cargo.toml"
    changes, packages = changelog.read_text(), manifest.read_text()
    if f"## [{version}]" in changes:
        sys.exit(f"version {version} has been released")
    if not re.search(rf"^{re.escape(UNRELEASED)}\n+(?!## )\S", changes, re.M):
        sys.exit("the changelog has no unreleased changes")
    heading = f"{UNRELEASED}\n\n## [{version}] - {date}"
    changelog.write_text(once(changes, rf"^{re.escape(UNRELEASED)}$", heading, changelog.name))
    manifest.write_text(once(packages, r'^version = "\d+\.\d+\.\d+"$', f'version = "{version}"', manifest.name))


def notes(version):
    changes = (ROOT / "CHANGELOG.md").read_text()
    found = re.search(rf"^## \[{re.escape(version)}\].*?\n(.*?)(?=^## |\Z)", changes, re.M | re.S)
    if not found:
        sys.exit(f"the changelog has no version {version}")
    print(found[1].strip())


def collect(folder):
    """Copies artifacts into one folder. Some, such as the npm package for all platforms, come from every build."""
    made = {}
    for path in sorted(folder.glob("*/*")):
        if path.name == "SHA256SUMS":
            continue
        data = path.read_bytes()
        if made.setdefault(path.name, data) != data:
            sys.exit(f"{path.name} differs from platform to platform")
    for name, data in made.items():
        (folder / name).write_bytes(data)
    sums = "".join(f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in sorted(made.items()))
    (folder / "SHA256SUMS").write_text(sums)


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["cut", version, date]:
            cut(version, date)
        case ["notes", version]:
            notes(version)
        case ["collect", folder]:
            collect(pathlib.Path(folder))
        case _:
            sys.exit(__doc__)
