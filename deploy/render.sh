#!/bin/sh
# Renders the chart with each of values/*.yaml into rendered/, with helm (HELM=path, else the one of the machine). Keys that the chart makes by chance
# are zeros there. The first line is a hash of what was rendered: a test fails when the chart has changed since.
set -eu
cd "$(dirname "$0")"
helm=${HELM:-helm}
sum=$(find chart values -type f | LC_ALL=C sort | xargs sha256sum | sha256sum | cut -d' ' -f1)
for values in values/*.yaml; do
  name=$(basename "$values" .yaml)
  "$helm" lint --quiet chart --values "$values"
  {
    echo "# Rendered from $sum (deploy/render.sh); edit the chart."
    "$helm" template boxyard chart --namespace boxyard --kube-version 1.35.0 --values "$values" |
      sed -E 's/^(  (store-key|api-key|admin-token): ).*/\1MDAw/'
  } > "rendered/$name.yaml"
done
