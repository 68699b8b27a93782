"""Checks what is in each package, without running it.

    contents.py ARTIFACTS
"""

import gzip
import json
import pathlib
import re
import struct
import subprocess
import sys
import tarfile
import zipfile
import zlib

import yaml

from image import Image

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
# The oldest C library that docs/guides/install.md promises.
GLIBC = (2, 17)
# What each completion says to its shell.
COMPLETIONS = {
    "bash": b"complete -F _vedette ", "elvish": b"set edit:completion:arg-completer[vedette]",
    "fish": b"complete -c vedette ", "zsh": b"#compdef vedette\n",
}


class Tar(dict):
    """The files of an archive, without the folder that contains them all."""

    def __init__(self, file, depth=0):
        with tarfile.open(fileobj=file, mode="r|*") as tar:
            for entry in tar:
                if entry.isfile():
                    self["/".join(pathlib.PurePath(entry.name).parts[depth:])] = tar.extractfile(entry).read()


def one(folder, pattern):
    [found] = folder.glob(pattern)
    return found


def sections(program):
    """The sections of a 64-bit ELF file."""
    assert program[:6] == b"\x7fELF\x02\x01", "this is not an ELF file"
    start, size, count, names = struct.unpack_from("<Q10xHHH", program, 0x28)
    headers = [struct.unpack_from("<I20xQQ", program, start + index * size) for index in range(count)]
    content = [program[offset:offset + length] for _, offset, length in headers]
    name = lambda at: content[names][at:].split(b"\0", 1)[0].decode()
    return {name(at): part for (at, *_), part in zip(headers, content)}


def dependencies(found):
    """The names and versions of the packages in a binary (`cargo audit bin`)."""
    assert ".dep-v0" in found, "the binary does not list its packages"
    packages = json.loads(zlib.decompress(found[".dep-v0"]))["packages"]
    assert len(packages) > 100, f"the binary lists {len(packages)} packages"
    return {(package["name"], package["version"]) for package in packages if package.get("kind") != "build"}


def libc(found):
    """The version of the C library that a binary needs: the highest among the versions of the symbols that it uses."""
    versions = re.findall(rb"GLIBC_([^\0]+)\0", found[".dynstr"])
    needed = max(tuple(map(int, version.split(b"."))) for version in versions)
    assert needed <= GLIBC, f"the binary needs glibc {needed}"
    return ".".join(map(str, needed))


def bill(data, contained):
    """Checks the bill of materials, which must list everything in the binary."""
    bom = json.loads(data)
    assert bom["bomFormat"] == "CycloneDX" and bom["specVersion"].startswith("1."), bom["bomFormat"]
    listed = {(component["name"], component["version"]) for component in (bom["metadata"]["component"], *bom["components"])}
    assert len(listed) > 100 and "rustls" in {name for name, _ in listed}, f"the bill lists {len(listed)} components"
    assert contained <= listed, f"the bill does not list {contained - listed}"
    # The folder in which it was built is not part of it.
    folders = set(re.findall(rb"file:///[^/?#\"]*", data))
    assert folders == {b"file:///vedette"}, folders
    return len(listed)


def manual(pages):
    """Checks that there is a manual page for each command."""
    commands = re.findall(r"^#+ `(vedette.*)`$", (DOCS / "reference/command-line.md").read_text(), re.M)
    expected = {f"{command.replace(' ', '-')}.1.gz" for command in commands}
    assert pages.keys() == expected, f"manual pages: {pages.keys() ^ expected}"
    for name, page in pages.items():
        assert f".TH {name.removesuffix('.1.gz')} 1 ".encode() in gzip.decompress(page), name
    return len(pages)


def below(files, folder):
    return {path.removeprefix(folder): data for path, data in files.items() if path.startswith(folder)}


def compose(text, images):
    """Checks that compose.yaml starts an image as the image expects."""
    read = yaml.safe_load(text)
    [service] = read["services"].values()
    # The other image is in a comment.
    names = {service["image"], *re.findall(r"^ *# image: (\S+)$", text, re.M)}
    for image in images:
        assert image.tags[0] in names and f"docker.io/library/{image.tags[0]}" in image.names, image.names
        config = image.config
        [port] = config["ExposedPorts"]
        host, outside, inside = service["ports"][0].rsplit(":", 2)
        assert f"{inside}/tcp" == port and config["Cmd"] == ["serve", "--listen", f"0.0.0.0:{inside}"], config
        # Nobody else reaches a service without an account, and links lead to the published port.
        assert host == "127.0.0.1" and f"//localhost:{outside}/" in service["environment"]["VEDETTE_BASE_URL"], service
        [[volume, folder]] = [mount.split(":") for mount in service["volumes"]]
        assert volume in read["volumes"] and list(config["Volumes"]) == [folder], config
        assert f"VEDETTE_DATA={folder}" in config["Env"] and config["WorkingDir"] == folder, config
        # The health check is that of the image.
        assert "healthcheck" not in service and "user" not in service and "command" not in service, service
    assert images[0].tags == [service["image"]], service


def main(artifacts):
    archive = Tar(one(artifacts, "vedette-*-linux-gnu.tar.gz").open("rb"), 1)
    with zipfile.ZipFile(one(artifacts, "*.whl")) as zipped:
        wheel = {"/".join(name.split("/")[1:]): zipped.read(name) for name in zipped.namelist()}
    npm = Tar(one(artifacts, "vedette-linux-*.tgz").open("rb"), 1)
    package = one(artifacts, "*.deb")
    unpacked = subprocess.Popen(["dpkg-deb", "--fsys-tarfile", package], stdout=subprocess.PIPE)
    debian = Tar(unpacked.stdout)
    assert unpacked.wait() == 0, package
    # The image without a browser is the first one.
    images = [Image(path) for path in sorted(artifacts.glob("*-image.tar"), key=lambda path: "browser" in path.name)]

    program = archive["vedette"]
    programs = [wheel["scripts/vedette"], npm["bin/vedette"], debian["usr/bin/vedette"]]
    programs += [Tar(image.layer(len(image.layers) - 1))["usr/bin/vedette"] for image in images]
    assert all(other == program for other in programs), "the packages have different programs"
    found = sections(program)
    contained = dependencies(found)
    needed = libc(found)

    materials = one(artifacts, "*.cdx.json").read_bytes()
    [inside] = [data for name, data in wheel.items() if name.endswith(".cyclonedx.json")]
    assert materials == inside, "the wheel has another bill of materials"
    listed = bill(materials, contained)

    pages = manual(below(archive, "man/"))
    assert below(debian, "usr/share/man/man1/") == below(archive, "man/"), "the Debian package has other manual pages"
    completions = below(archive, "completions/")
    assert completions.keys() == COMPLETIONS.keys(), completions.keys()
    for shell, said in COMPLETIONS.items():
        assert said in completions[shell], shell
    for shell, path in {
        "bash": "bash-completion/completions/vedette", "fish": "fish/vendor_completions.d/vedette.fish",
        "zsh": "zsh/vendor-completions/_vedette",
    }.items():
        assert debian[f"usr/share/{path}"] == completions[shell], path

    depends = subprocess.run(["dpkg-deb", "--field", package, "Depends"], capture_output=True, text=True, check=True).stdout
    assert f"libc6 (>= {'.'.join(map(str, GLIBC))})" in depends, depends
    compose((artifacts / "compose.yaml").read_text(), images)
    assert "$schema" in json.loads((artifacts / "vedette.schema.json").read_text())
    print(f"  one program in {1 + len(programs)} packages, which lists {len(contained)} dependencies and needs glibc {needed}; "
          f"{listed} components in the bill of materials, {pages} manual pages, {len(completions)} completions")


match sys.argv[1:]:
    case [artifacts]:
        main(pathlib.Path(artifacts))
    case _:
        sys.exit(__doc__)
