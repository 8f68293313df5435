#!/bin/sh
# Makes the pictures in this folder from tapes; nothing here is drawn by hand. PNG as well where rsvg-convert is installed.
set -eu
cd "$(dirname "$0")/.."
program=${INDUCTOP:-build/inductop}

picture() { # NAME TAPE SIZE KEYS
    "$program" replay "tests/tapes/$2.jsonl" --size "$3" --script "$4" --dump "screenshots/$1.svg"
    if command -v rsvg-convert >/dev/null 2>&1; then
        rsvg-convert "screenshots/$1.svg" -o "${PICTURES:-build}/$1.png"
    fi
}

picture overview healthy 100x30 ""
picture storm storm 100x30 ""
picture switch-failed switch_failed 100x30 ""
