"""Reads an OCI archive with nothing but Python's own tar and JSON, and prints what a foreign program makes of it."""

import hashlib
import json
import sys
import tarfile

archive = tarfile.open(sys.argv[1], "r:")
names = archive.getnames()
assert len(set(names)) == len(names), "a name stands there twice"


def read(name):
    return archive.extractfile(name).read()


def blob(descriptor):
    kind, hexadecimal = descriptor["digest"].split(":")
    data = read(f"blobs/{kind}/{hexadecimal}")
    assert hashlib.new(kind, data).hexdigest() == hexadecimal, "a blob has another digest"
    assert len(data) == descriptor["size"], "a blob has another size"
    return data


layout = json.loads(read("oci-layout"))
index = json.loads(read("index.json"))
(entry,) = index["manifests"]
manifest = json.loads(blob(entry))
config = json.loads(blob(manifest["config"]))
layers = [blob(layer) for layer in manifest["layers"]]
assert [f"sha256:{hashlib.sha256(layer).hexdigest()}" for layer in layers] == config["rootfs"]["diff_ids"]
print(
    json.dumps(
        {
            "layout": layout,
            "mediaTypes": [index["mediaType"], entry["mediaType"], manifest["config"]["mediaType"], *{layer["mediaType"] for layer in manifest["layers"]}],
            "name": entry["annotations"]["org.opencontainers.image.ref.name"],
            "digest": entry["digest"],
            "others": [name for name in names if not name.startswith("blobs/")],
            "user": config["config"]["User"],
            "cmd": config["config"]["Cmd"],
            "layers": config["rootfs"]["diff_ids"],
        }
    )
)
