"""Reads an image that was taken apart, and prints its layers and variables.

    image.py FOLDER    prints `layer FILE` and `variable NAME=VALUE`, a line each
"""

import json
import pathlib
import sys

image = pathlib.Path(sys.argv[1])


def blob(described):
    return image / "blobs/sha256" / described["digest"].removeprefix("sha256:")


index = json.loads((image / "index.json").read_text())
manifest = json.loads(blob(index["manifests"][0]).read_text())
config = json.loads(blob(manifest["config"]).read_text())["config"]
assert config["User"] == "65532:65532" and config["Healthcheck"]["Test"] == ["CMD", "/usr/bin/vedette", "health"], config
for layer in manifest["layers"]:
    print("layer", blob(layer))
for variable in config["Env"]:
    print("variable", variable)
