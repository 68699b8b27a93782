"""Reads an image as a container runtime does.

    image.py ARCHIVE ROOT    unpacks the layers into the folder ROOT, and prints `variable NAME=VALUE` for each variable
                             and `health COMMAND`
"""

import gzip
import hashlib
import json
import shlex
import subprocess
import sys
import tarfile


def digest(file):
    return "sha256:" + hashlib.file_digest(file, "sha256").hexdigest()


class Image:
    def __init__(self, archive):
        self.tar = tarfile.open(archive)
        [described] = self.read("index.json")["manifests"]
        self.names = described["annotations"].values()
        manifest = json.load(self.blob(described))
        self.layers = manifest["layers"]
        config = json.load(self.blob(manifest["config"]))
        self.config, self.contents = config["config"], config["rootfs"]["diff_ids"]
        # Older versions of Docker read this file instead of the index.
        [docker] = self.read("manifest.json")
        paths = ["blobs/" + blob["digest"].replace(":", "/") for blob in (manifest["config"], *self.layers)]
        assert [docker["Config"], *docker["Layers"]] == paths, docker
        self.tags = docker["RepoTags"]

    def read(self, name):
        return json.load(self.tar.extractfile(name))

    def blob(self, described):
        """Opens a blob. A runtime refuses one with another digest."""
        file = self.tar.extractfile("blobs/" + described["digest"].replace(":", "/"))
        assert digest(file) == described["digest"] and file.tell() == described["size"], described
        file.seek(0)
        return file

    def layer(self, index):
        file = self.blob(self.layers[index])
        assert digest(gzip.open(file)) == self.contents[index], f"layer {index} is not the one in the configuration"
        file.seek(0)
        return file


def main(archive, root):
    image = Image(archive)
    assert image.config["User"] == "65532:65532" and image.config["Entrypoint"] == ["/usr/bin/vedette"], image.config
    for index in range(len(image.layers)):
        unpack = subprocess.Popen(["tar", "-xz", "-C", root], stdin=subprocess.PIPE)
        with image.layer(index) as layer, unpack.stdin as pipe:
            while chunk := layer.read(1 << 20):
                pipe.write(chunk)
        assert unpack.wait() == 0, archive
    for variable in image.config["Env"]:
        print("variable", variable)
    kind, *health = image.config["Healthcheck"]["Test"]
    assert kind == "CMD", kind
    print("health", shlex.join(health))


if __name__ == "__main__":
    match sys.argv[1:]:
        case [archive, root]:
            main(archive, root)
        case _:
            sys.exit(__doc__)
