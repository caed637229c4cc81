#!/usr/bin/env bash
# Puts cuDNN's headers, which NVIDIA's packages have among the system's as links, into the
# toolkit's folder, by which the image worker-cuda gets both.
set -euo pipefail
cp --dereference /usr/include/*/cudnn*.h /usr/local/cuda/include/
