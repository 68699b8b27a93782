"""Writes what is deployed without a compiler: the functions as archives, and templates that find them in a bucket.

    package.py OUTPUT [ARCHITECTURE=FOLDER ...]

Each FOLDER has NAME/bootstrap for each function, as `cargo lambda build` leaves them. Without any, the templates alone
are written.
"""

import hashlib
import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# No archive says when it was made: the same binaries are the same archive, and change nothing that is deployed.
EPOCH = (1980, 1, 1, 0, 0, 0)


def archive(binary, path):
    """Packs a binary as Lambda's runtime expects it."""
    entry = zipfile.ZipInfo("bootstrap", EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o100755 << 16
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(entry, binary.read_bytes(), compresslevel=9)


def functions(template):
    """The folders of functions that a template builds."""
    return sorted(set(re.findall(r"^ +CodeUri: functions/([\w-]+)", template, re.M)))


def packaged(template, prefix):
    """The template with archives of a bucket in place of what is to be built."""
    parameters = f"""Parameters:
  CodeBucket:
    Description: Bucket of this region with the archives of the functions
    Type: String
    MinLength: 1

"""
    assert template.count("\nParameters:\n") == 1
    template = template.replace("\nParameters:\n", f"\n{parameters}")
    template = re.sub(r"^ +Metadata: \{ BuildMethod: rust-cargolambda \}\n", "", template, flags=re.M)
    # Not a parameter: an update would keep the value that it had.
    key = prefix + r"${Architecture}/\1.zip"
    code = f'CodeUri: {{ Bucket: !Ref CodeBucket, Key: !Sub "{key}" }}'
    template = re.sub(r"CodeUri: functions/([\w-]+)", code, template)
    assert "BuildMethod" not in template
    return template


def main(output, *built):
    output = pathlib.Path(output)
    templates = {name: (ROOT / name).read_text() for name in ("template.yaml", "outpost.yaml")}
    version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    built = dict(one.split("=", 1) for one in built)
    binaries = {
        (architecture, name): pathlib.Path(folder) / name / "bootstrap"
        for architecture, folder in built.items()
        for name in functions(templates["template.yaml"])
    }
    # The names differ where the code does, so that CloudFormation notices an update.
    digest = hashlib.sha256()
    for (architecture, name), binary in sorted(binaries.items()):
        digest.update(f"{architecture}/{name} ".encode() + hashlib.sha256(binary.read_bytes()).digest())
    prefix = f"vedette-{version}-{digest.hexdigest()[:12]}/"
    output.mkdir(parents=True, exist_ok=True)
    for (architecture, name), binary in binaries.items():
        archive(binary, output / prefix / architecture / f"{name}.zip")
    for name, template in templates.items():
        (output / name).write_text(packaged(template, prefix))
    print(*(output / name for name in templates), *sorted(str(path) for path in (output / prefix).rglob("*.zip")), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
