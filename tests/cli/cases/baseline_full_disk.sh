# A disk with no byte left: what is kept is still told, what cannot be kept says why, and nothing is damaged.
needs_sqlite
needs_jansson
mkdir full
unshare -rm mount -t tmpfs -o size=200k none full 2>/dev/null || skip "no file system of its own can be mounted here"
cp "$DOCS"/../tests/measure/report/results.json .
unshare -rm bash -c '
mount -t tmpfs -o size=200k none full
tern baseline create a --from results.json --store full/s.db
head -c 1000000 /dev/zero >full/fill 2>/dev/null
tern baseline list --store full/s.db --json | "$TERN_PYTHON" -c "import json, sys; print([b[\"name\"] for b in json.load(sys.stdin)])"
for command in "create b --from results.json --store full/s.db" "create b --from results.json --store full/new.db" "delete a --store full/s.db"; do
    tern baseline $command
    echo "exit $?"
done
tern regress --baseline a --from results.json --any-host --store full/s.db >answer
echo "exit $?, $(tail -n 1 answer)"
rm full/fill
"$TERN_PYTHON" -c "import sqlite3; print(sqlite3.connect(\"full/s.db\").execute(\"PRAGMA integrity_check\").fetchall())"
tern baseline create b --from results.json --store full/s.db
' 2>&1
