"""Writes the files for a deployment without a compiler: the functions as archives, and templates that use them.

    package.py OUTPUT [ARCHITECTURE=FOLDER ...]

Each FOLDER has NAME/bootstrap for each function, as `cargo lambda build` writes them. Without any FOLDER, only the
templates are written. Nested templates are beside the archives.
"""

import hashlib
import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Archives contain no time of their creation, so that the same binaries give the same archive, and nothing is deployed
# again.
EPOCH = (1980, 1, 1, 0, 0, 0)


def archive(binary, path):
    """Writes an archive with a binary, as Lambda expects it."""
    entry = zipfile.ZipInfo("bootstrap", EPOCH)
    entry.compress_type = zipfile.ZIP_DEFLATED
    entry.create_system = 3
    entry.external_attr = 0o100755 << 16
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as made:
        made.writestr(entry, binary.read_bytes(), compresslevel=9)


def functions(template):
    """Returns the folders of the functions that a template builds."""
    return sorted(set(re.findall(r"^ +CodeUri: functions/([\w-]+)", template, re.M)))


def packaged(template, prefix):
    """Returns the template with archives in a bucket instead of functions that must be built."""
    parameters = f"""Parameters:
  CodeBucket:
    Description: Bucket of this region with the archives of the functions
    Type: String
    MinLength: 1

"""
    assert template.count("\nParameters:\n") == 1
    template = template.replace("\nParameters:\n", f"\n{parameters}")
    template = re.sub(r"^ +Metadata: \{ BuildMethod: rust-cargolambda \}\n", "", template, flags=re.M)
    # This is not a parameter, because an update of a stack would keep the old value.
    key = prefix + r"${Architecture}/\1.zip"
    code = f'CodeUri: {{ Bucket: !Ref CodeBucket, Key: !Sub "{key}" }}'
    template = re.sub(r"CodeUri: functions/([\w-]+)", code, template)
    url = f'"https://s3.${{AWS::Region}}.${{AWS::URLSuffix}}/${{CodeBucket}}/{prefix}'
    nested = rf'TemplateURL: !Sub {url}\1"\n\2Parameters:\n\2  CodeBucket: !Ref CodeBucket\n'
    template = re.sub(r"TemplateURL: (\S+)\n( +)Parameters:\n", nested, template)
    assert "BuildMethod" not in template
    return template


def main(output, *built):
    output = pathlib.Path(output)
    templates = {name: (ROOT / name).read_text() for name in ("template.yaml", "outpost.yaml")}
    nested = {name: (ROOT / name).read_text() for name in re.findall(r"TemplateURL: (\S+)", templates["template.yaml"])}
    version = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    built = dict(one.split("=", 1) for one in built)
    binaries = {
        (architecture, name): pathlib.Path(folder) / name / "bootstrap"
        for architecture, folder in built.items()
        for name in functions(templates["template.yaml"])
    }
    # If the code or a nested template changes, so do the names, so that CloudFormation notices an update.
    digest = hashlib.sha256("".join(nested.values()).encode())
    for (architecture, name), binary in sorted(binaries.items()):
        digest.update(f"{architecture}/{name} ".encode() + hashlib.sha256(binary.read_bytes()).digest())
    prefix = f"vedette-{version}-{digest.hexdigest()[:12]}/"
    (output / prefix).mkdir(parents=True, exist_ok=True)
    for (architecture, name), binary in binaries.items():
        archive(binary, output / prefix / architecture / f"{name}.zip")
    for name, template in templates.items():
        (output / name).write_text(packaged(template, prefix))
    for name, template in nested.items():
        (output / prefix / name).write_text(packaged(template, prefix))
    files = (path for path in (output / prefix).rglob("*") if path.is_file())
    print(*(output / name for name in templates), *sorted(map(str, files)), sep="\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
