"""Packs one binary into all artifacts for which there is no other tool.

    artifacts.py unpack WHEEL STAGE                  takes the binary and the bill of materials out of the wheel
    artifacts.py pack STAGE TARGET VERSION OUTPUT    an archive, packages for npm, an image, compose.yaml and the schema
                                                     of vedette.yaml
    artifacts.py browser STAGE TARGET VERSION ROOT OUTPUT    an image with a browser, on a root made by mmdebstrap
    artifacts.py sums OUTPUT                         the list of checksums

The same binary is the same artifact: entries are sorted, owned by root and as old as the commit (SOURCE_DATE_EPOCH).
"""

import base64
import gzip
import hashlib
import io
import json
import os
import pathlib
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "0"))
# The names of processors and systems in Rust, and in npm and OCI images.
NPM = {"x86_64": "x64", "aarch64": "arm64", "linux": "linux", "darwin": "darwin"}
OCI = {"x86_64": "amd64", "aarch64": "arm64"}
# The id of the image's user, which no other user has.
USER = 65532
DESCRIPTION = "Monitors websites: uptime, certificates, DNS, broken links and page speed"


def unpack(wheel, stage):
    with zipfile.ZipFile(wheel) as archive:
        entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
    with zipfile.ZipFile(wheel, "w") as archive:
        record = []
        for entry, data in entries:
            if entry.filename.endswith(".data/scripts/vedette"):
                (stage / "vedette").write_bytes(data)
                (stage / "vedette").chmod(0o755)
            elif entry.filename.endswith(".cyclonedx.json"):
                # It contains the folder of this machine in which each package was built.
                data = data.replace(f"file://{ROOT}".encode(), b"file:///vedette")
                (stage / "bill.cdx.json").write_bytes(data)
            elif entry.filename.endswith("/RECORD"):
                data = "".join(record + [f"{entry.filename},,\n"]).encode()
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
            record.append(f"{entry.filename},sha256={digest},{len(data)}\n")
            archive.writestr(entry, data, compresslevel=9)
    for needed in ("vedette", "bill.cdx.json"):
        assert (stage / needed).is_file(), f"the wheel has no {needed}"


class Tar:
    """An archive whose entries all have the same owner and time."""

    def __init__(self):
        self.buffer = io.BytesIO()
        self.tar = tarfile.open(fileobj=self.buffer, mode="w", format=tarfile.PAX_FORMAT)

    def add(self, name, kind=tarfile.REGTYPE, mode=0o644, data=b"", link="", owner=0):
        entry = tarfile.TarInfo(name)
        entry.type, entry.mode, entry.size, entry.linkname = kind, mode, len(data), link
        entry.mtime, entry.uid, entry.gid = EPOCH, owner, owner
        self.tar.addfile(entry, io.BytesIO(data))

    def folder(self, name, mode=0o755, owner=0):
        self.add(name, tarfile.DIRTYPE, mode, owner=owner)

    def link(self, name, to):
        self.add(name, tarfile.SYMTYPE, 0o777, link=to)

    def file(self, name, path, mode=0o644):
        self.add(name, mode=mode, data=path.read_bytes())

    def bytes(self):
        self.tar.close()
        return self.buffer.getvalue()


def compressed(data):
    # For a hundred megabytes, saving the last percent would take minutes.
    return gzip.compress(data, compresslevel=9 if len(data) < 100_000_000 else 6, mtime=0)


def archive(stage, name):
    """Writes the archive that you can unpack and run anywhere."""
    tar = Tar()
    tar.folder(name)
    tar.file(f"{name}/vedette", stage / "vedette", 0o755)
    # The old name of the program, for one more version.
    tar.link(f"{name}/vedette-local", "vedette")
    tar.file(f"{name}/LICENSE", ROOT / "LICENSE")
    for kind in ("completions", "man"):
        for path in sorted((stage / kind).glob("*")):
            tar.file(f"{name}/{kind}/{path.name}", path)
    return compressed(tar.bytes())


def npm(stage, processor, system, version, output):
    """Writes the package that people install, and its dependency with the program for this platform."""
    name = f"vedette-{NPM[system]}-{NPM[processor]}"
    common = {"version": version, "description": DESCRIPTION, "license": "Apache-2.0"}
    platforms = [f"vedette-{system}-{arch}" for system in ("linux", "darwin") for arch in ("x64", "arm64")]
    packages = [
        (
            {"name": name, **common, "os": [NPM[system]], "cpu": [NPM[processor]], "files": ["bin"]}
            | ({"libc": ["glibc"]} if system == "linux" else {}),
            "bin/vedette",
            stage / "vedette",
        ),
        (
            {"name": "vedette", **common, "bin": {"vedette": "bin/vedette.js"}, "files": ["bin"]}
            | {"engines": {"node": ">=18"}, "optionalDependencies": dict.fromkeys(platforms, version)},
            "bin/vedette.js",
            HERE / "npm/vedette.js",
        ),
    ]
    for manifest, program, source in packages:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            (folder / "package.json").write_text(json.dumps(manifest, indent=2) + "\n")
            (folder / program).parent.mkdir()
            shutil.copy(source, folder / program)
            (folder / program).chmod(0o755)
            shutil.copy(ROOT / "LICENSE", folder)
            command = ["npm", "pack", "--silent", "--ignore-scripts", "--pack-destination", str(output.resolve())]
            subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def certificates(folder):
    """Returns the certificate authorities that Debian trusts, as one file."""
    found = sorted(pathlib.Path(folder).glob("usr/share/ca-certificates/mozilla/*.crt"))
    assert len(found) > 100, f"{folder} has {len(found)} authorities"
    return b"".join(path.read_bytes().rstrip(b"\n") + b"\n" for path in found)


def root(stage):
    """Returns all files of the image: the program, its C library, certificate authorities, and a user."""
    tar = Tar()
    for folder in ("etc", "etc/ssl", "etc/ssl/certs", "usr", "usr/bin", "usr/lib", "usr/lib64", "var", "var/lib"):
        tar.folder(folder)
    tar.folder("tmp", 0o1777)
    tar.folder("var/lib/vedette", 0o700, USER)
    for name in ("bin", "lib", "lib64"):
        tar.link(name, f"usr/{name}")
    tar.file("usr/bin/vedette", stage / "vedette", 0o755)
    libc = pathlib.Path(os.environ["LIBC"])
    # The parts of the C library to which a program may be linked, or which it loads to look up a name.
    parts = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|nss_dns|nss_files))\.so\.\d+")
    found = {path.name: path for path in sorted(libc.glob("lib/*-linux-gnu/*")) if parts.fullmatch(path.name)}
    assert "libc.so.6" in found, f"{libc} has no C library"
    tar.folder(multiarch := f"usr/{next(iter(found.values())).parent.relative_to(libc)}")
    for name, path in found.items():
        tar.file(f"{multiarch}/{name}", path.resolve(), 0o755)
    for name in found:
        if name.startswith("ld-linux"):
            tar.link(f"usr/{'lib64' if 'x86-64' in name else 'lib'}/{name}", f"/{multiarch}/{name}")
    tar.add("etc/ssl/certs/ca-certificates.crt", data=certificates(os.environ["AUTHORITIES"]))
    add_user(tar, "root:x:0:0::/:/nonexistent\n", "root:x:0:\n")
    tar.add("etc/nsswitch.conf", data=b"hosts: files dns\n")
    return tar.bytes()


def add_user(tar, users, groups):
    """Adds the image's user to the other users."""
    user = f"vedette:x:{USER}:{USER}::/var/lib/vedette:/nonexistent\n"
    tar.add("etc/passwd", data=f"{users}{user}".encode())
    tar.add("etc/group", data=f"{groups}vedette:x:{USER}:\n".encode())


# Files of a Debian root that an image does not need.
LEFT_OUT = re.compile(r"(dev|proc|sys|run|tmp|var/(cache|log|tmp|lib/apt/lists))/.+|opt/vedette/bootstrap")


def debian(root):
    """Returns a Debian root without caches and logs, and without programs that give more rights."""
    tar = Tar()
    for folder, folders, files in os.walk(root):
        folders.sort()
        for name in sorted(folders + files):
            path = pathlib.Path(folder, name)
            found, inside = path.lstat(), str(path.relative_to(root))
            if LEFT_OUT.fullmatch(inside):
                continue
            mode = stat.S_IMODE(found.st_mode) & ~(stat.S_ISUID | stat.S_ISGID)
            if path.is_symlink():
                tar.link(inside, os.readlink(path))
            elif path.is_dir():
                tar.folder(inside, mode)
            else:
                tar.file(inside, path, mode)
    return tar.bytes()


def browser(stage, processor, version, root):
    """Writes the image that also contains Lighthouse, Node and Debian's Chromium."""
    tar = Tar()
    for folder in ("usr", "usr/bin", "var", "var/lib", "etc"):
        tar.folder(folder)
    tar.folder("var/lib/vedette", 0o700, USER)
    tar.file("usr/bin/vedette", stage / "vedette", 0o755)
    add_user(tar, (root / "etc/passwd").read_text(), (root / "etc/group").read_text())
    variables = [
        "VEDETTE_LIGHTHOUSE=/opt/vedette/lighthouse",
        "VEDETTE_CHROME=/usr/bin/chromium-headless-shell",
    ]
    return image([debian(root), tar.bytes()], processor, version, f"{version}-browser", variables)


def image(layers, processor, version, tag, variables=()):
    """Writes an image as an archive that Docker, Podman and clients of registries can load."""
    blobs = {}

    def blob(data, kind, **more):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": kind, "digest": f"sha256:{digest}", "size": len(data), **more}

    seconds = 1_000_000_000
    config = {
        "architecture": OCI[processor],
        "os": "linux",
        "config": {
            "User": f"{USER}:{USER}",
            "Env": ["PATH=/usr/bin", "VEDETTE_DATA=/var/lib/vedette", *variables],
            "Entrypoint": ["/usr/bin/vedette"],
            "Cmd": ["serve", "--listen", "0.0.0.0:8787"],
            "ExposedPorts": {"8787/tcp": {}},
            "Volumes": {"/var/lib/vedette": {}},
            "WorkingDir": "/var/lib/vedette",
            "Healthcheck": {
                "Test": ["CMD", "/usr/bin/vedette", "health"],
                "Interval": 30 * seconds,
                "Timeout": 10 * seconds,
                "StartPeriod": 30 * seconds,
                "Retries": 3,
            },
            "Labels": {
                "org.opencontainers.image.title": "Vedette",
                "org.opencontainers.image.description": DESCRIPTION,
                "org.opencontainers.image.licenses": "Apache-2.0",
                "org.opencontainers.image.version": version,
            },
        },
        "rootfs": {"type": "layers", "diff_ids": [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers]},
        "history": [{"created_by": "make dist"}] * len(layers),
    }
    oci = "application/vnd.oci.image"
    manifest = {
        "schemaVersion": 2,
        "mediaType": f"{oci}.manifest.v1+json",
        "config": blob(json.dumps(config).encode(), f"{oci}.config.v1+json"),
        "layers": [blob(compressed(layer), f"{oci}.layer.v1.tar+gzip") for layer in layers],
    }
    # Clients that support OCI use the first of these names, and Docker uses the second.
    names = {"org.opencontainers.image.ref.name": tag, "io.containerd.image.name": f"docker.io/library/vedette:{tag}"}
    index = {
        "schemaVersion": 2,
        "mediaType": f"{oci}.index.v1+json",
        "manifests": [blob(json.dumps(manifest).encode(), manifest["mediaType"], annotations=names)],
    }
    path = lambda described: "blobs/sha256/" + described["digest"].removeprefix("sha256:")
    docker = [{"Config": path(manifest["config"]), "RepoTags": [f"vedette:{tag}"], "Layers": list(map(path, manifest["layers"]))}]
    tar = Tar()
    tar.add("oci-layout", data=b'{"imageLayoutVersion":"1.0.0"}')
    tar.add("index.json", data=json.dumps(index).encode())
    tar.add("manifest.json", data=json.dumps(docker).encode())
    tar.folder("blobs")
    tar.folder("blobs/sha256")
    for digest, data in sorted(blobs.items()):
        tar.add(f"blobs/sha256/{digest}", data=data)
    return tar.bytes()


def pack(stage, target, version, output):
    processor, system = target.split("-")[0], "darwin" if "darwin" in target else "linux"
    name = f"vedette-{version}-{target}"
    (output / f"{name}.tar.gz").write_bytes(archive(stage, name))
    shutil.copy(stage / "bill.cdx.json", output / f"{name}.cdx.json")
    shutil.copy(ROOT / "docs/reference/vedette.schema.json", output)
    if not target.endswith("-musl"):
        npm(stage, processor, system, version, output)
    if target.endswith("-linux-gnu"):
        made = image([root(stage)], processor, version, version)
        (output / f"vedette-{version}-{OCI[processor]}-image.tar").write_bytes(made)
        compose = (HERE / "compose.yaml").read_text().replace("VERSION", version)
        (output / "compose.yaml").write_text(compose)


def sums(output):
    """Writes the list of checksums, as `sha256sum --check` reads it."""
    made = sorted(path for path in output.iterdir() if path.name != "SHA256SUMS")
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n" for path in made]
    (output / "SHA256SUMS").write_text("".join(lines))


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["unpack", wheel, stage]:
            unpack(wheel, pathlib.Path(stage))
        case ["pack", stage, target, version, output]:
            pack(pathlib.Path(stage), target, version, pathlib.Path(output))
        case ["browser", stage, target, version, root_folder, output]:
            processor = target.split("-")[0]
            made = browser(pathlib.Path(stage), processor, version, pathlib.Path(root_folder))
            pathlib.Path(output, f"vedette-{version}-{OCI[processor]}-browser-image.tar").write_bytes(made)
        case ["sums", output]:
            sums(pathlib.Path(output))
        case _:
            sys.exit(__doc__)
