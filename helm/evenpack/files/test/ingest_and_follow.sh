#!/bin/sh
# What `helm test` runs: creates a job of two ranks, sends it 200 documents, follows both
# ranks to the end, and deletes it. Exit status 0 where the ranks have had each document
# exactly once.
#   EVENPACK_SERVER     HOST:PORT
#   EVENPACK_TEST_JOB   the job's name; one that is left of a run before is deleted
set -eu
folder="$(mktemp -d)"
job="$EVENPACK_TEST_JOB"
documents=200

clean_up() {
  evenpackctl jobs delete "$job" >/dev/null 2>&1 || true
  rm -r "$folder"
}
evenpackctl jobs delete "$job" >/dev/null 2>&1 || true
trap clean_up EXIT

number=0
while [ "$number" -lt "$documents" ]; do
  echo $((number * 37 % 500 + 1))
  number=$((number + 1))
done >"$folder/lengths"

evenpackctl jobs create "$job" --dp 2 --micro-batches 2 --window 1024 --streams test
evenpackctl ingest --job "$job" --stream test --lengths "$folder/lengths" --end-of-stream
for rank in 0 1; do
  evenpackctl follow --job "$job" --dp-rank "$rank" --ack durable --json >>"$folder/steps"
done

# The sequence number of every document of every step, whatever else its line has.
grep -o '"sequence": *[0-9]*' "$folder/steps" | sort >"$folder/received"
received="$(wc -l <"$folder/received")"
distinct="$(sort -u "$folder/received" | wc -l)"
echo "$job: $documents documents sent, $received received, $distinct of them distinct"
[ "$received" -eq "$documents" ] && [ "$distinct" -eq "$documents" ]
