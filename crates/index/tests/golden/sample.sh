#!/usr/bin/env bash
# Waters the garden.

set -euo pipefail

source ./lib/rows.sh
. "$(dirname "$0")/lib/tools.sh"

# How many rows fit.
readonly MAX_ROWS=12
declare -r MIN_ROWS=1
export GARDEN_HOME="$HOME/garden"
counter=0

# Waters every row.
#
# Takes the litres.
water() {
    local litres="$1"
    check "$litres" || return 1
    for row in $(list_rows); do
        dig "$row" | tee -a log.txt
    done
    if [[ -n "$litres" ]]; then
        "$PUMP" run
        ./bin/hose --litres "$litres"
    fi
    cat <<TEXT
watered with $(format_litres "$litres")
TEXT
}

function check {
    test "$1" -gt 0
}

function _private() ( echo "hidden" )

test_waters_every_row() {
    assert_equals "$(water 3)" "watered"
}

trap 'cleanup' EXIT
main() { water "$@"; }
main "$@"
