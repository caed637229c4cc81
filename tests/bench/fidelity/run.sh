#!/usr/bin/env bash
# Trains a tiny model on differently packed steps of the same documents, and writes
# tests/bench/fidelity/results.json and docs/images/fidelity*.png, which docs/fidelity.md
# shows; the tables of that page come on standard output.
#   tests/bench/fidelity/run.sh [DIRECTORY]    build-fidelity
# About an hour on one core. DIRECTORY keeps each run, so that a study that was
# interrupted goes on where it was; another folder begins anew. Needs the package built
# (tests/client/python/build_wheel.sh build-test-python).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
here=tests/bench/fidelity
directory="${1:-build-fidelity}"
python="${EVENPACK_PYTHON:-build-test-python/environment/bin/python}"
venv=build-fidelity-venv
"$python" -c 'import evenpack, tokenizers, torch' 2>/dev/null || {
  echo "run.sh: $python lacks the package; build it with" \
    "tests/client/python/build_wheel.sh build-test-python, or name a Python that has" \
    "it in EVENPACK_PYTHON" >&2
  exit 2
}
if [[ ! -e "$venv/complete" ]]; then
  python3 -m venv --clear "$venv"
  "$venv/bin/pip" install --quiet --requirement "$here/requirements.txt"
  touch "$venv/complete"
fi

# The text is that of the libraries that the tests install.
text="$("$(tests/client/python/install_libraries.sh)/bin/python" -c \
  'import site; print(site.getsitepackages()[0])')"
OMP_NUM_THREADS=1 CUDA_VISIBLE_DEVICES="" TOKENIZERS_PARALLELISM=false \
  "$python" -B "$here/study.py" "$directory" "$here/results.json" --text "$text"
"$venv/bin/python" -B "$here/draw_losses.py" "$here/results.json" docs/images
"$venv/bin/python" -B "$here/tables.py" "$here/results.json"
