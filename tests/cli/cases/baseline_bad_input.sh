# Stores and files that are not what they should be: a line, the right status, and every file as it was.
needs_sqlite
needs_jansson
results base.json 1 1 1
tern baseline create main --from base.json --store good.db
"$TERN_PYTHON" -c 'import sqlite3
c = sqlite3.connect("foreign.db"); c.execute("CREATE TABLE t(a)"); c.commit()
c = sqlite3.connect("newer.db"); c.execute("CREATE TABLE t(a)"); c.execute("PRAGMA application_id=0x54524e42"); c.execute("PRAGMA user_version=99"); c.commit()
whole = open("good.db", "rb").read()
page = int.from_bytes(whole[16:18], "big")
damaged = bytearray(whole)
for at in range(page, len(whole)): damaged[at] = (at * 37) % 251 # all but the first page, which says what it is
open("damaged.db", "wb").write(damaged)
open("cut.db", "wb").write(whole[:len(whole) // 2 - 100])
open("header.db", "wb").write(whole[:50])'
echo "a text that stands where a database should be, longer than a header of one hundred bytes would be; see?" >text.db
mkdir folder.db
said()
{
    "$@" 2>&1 >/dev/null | sed -E "s|$PWD/||g; s/^(tern: [a-z ]+: [^:]*: ).*(malformed|corrupt|not a database|damaged).*/\1WHY: \2/"
    echo "exit status ${PIPESTATUS[0]}"
}
echo "# what there is not is refused before anything is begun"
for option in --family=nonsense --suite=nonsense --size=7x7x7 --device=nonsense; do
    said tern baseline create any $option --runs 2 --store none.db
done
ls none.db 2>/dev/null
tern baseline create --help | grep -E -A3 -- '--(suite|family) '
for store in foreign newer damaged cut header text folder; do
    echo "# $store"
    [ $store = folder ] || cp $store.db before
    said tern baseline show main --store $store.db
    said tern regress --baseline main --from base.json --store $store.db
    said tern baseline create main --from base.json --replace --store $store.db
    said tern baseline delete main --store $store.db
    [ $store = folder ] || cmp $store.db before
done
ls -d ./*.db-* 2>/dev/null
# A page that no new row touches: what would write into the others is refused before it has.
"$TERN_PYTHON" -c 'import json
j = json.load(open("base.json"))
for r in j["rows"]: r["samples_us"] *= 400; r["rounds"] = len(r["samples_us"])
json.dump(j, open("big.json", "w"))'
tern baseline create big --from big.json --store page.db >big.said
"$TERN_PYTHON" -c 'import sqlite3
whole = open("page.db", "rb").read()
page = int.from_bytes(whole[16:18], "big")
roots = {r[0] for r in sqlite3.connect("page.db").execute("SELECT rootpage FROM sqlite_master")}
for k in reversed(range(2, len(whole) // page + 1)):
    damaged = bytearray(whole)
    damaged[(k - 1) * page:(k - 1) * page + 3000] = b"\xff" * 3000
    open("page.db", "wb").write(damaged)
    if k not in roots and sqlite3.connect("page.db").execute("PRAGMA integrity_check").fetchone()[0] != "ok": break
else: print("no page could be damaged")'
cp page.db before
said tern baseline create other --from base.json --store page.db
said tern baseline delete main --store page.db
cmp page.db before
# Rows that no measurement writes are named: which file, which row. What is damaged can be moved away, as is said.
for change in "samples_us = '1 two'" "run = -1"; do
    cp good.db row.db
    "$TERN_PYTHON" -c 'import sqlite3, sys; c = sqlite3.connect("row.db"); c.execute("UPDATE result SET " + sys.argv[1] + " WHERE rowid = 2"); c.commit()' "$change"
    said tern baseline show main --store row.db
done
tern baseline show main --store damaged.db
echo "# missing"
said tern regress --baseline main --from base.json --store none.db
said tern baseline delete main --store none.db
said tern regress --baseline nobody --from base.json --store good.db
ls none.db 2>/dev/null
echo "# files of results"
cp good.db before
: >empty.json
printf '\000\001\002' >binary.json
echo '{"format": "something else", "rows": []}' >other.json
echo '{"format": "tern-results", "version": 99, "rows": []}' >version.json
echo '[{"suite": 7}]' >types.json
echo '[{"suite": "ops", "family": "f", "name": "a", "threads": 1, "rounds": 1, "samples_us": [-1]}]' >negative.json
echo '[{"suite": "ops", "family": "f", "name": "a", "threads": 1, "rounds": 1, "samples_us": [1e999]}]' >huge.json
# Numbers that can be read, and that nothing can have taken: comparing with them would be by infinity.
echo '[{"suite": "ops", "family": "f", "name": "a", "threads": 1, "rounds": 1, "samples_us": [1e308]}]' >ages.json
echo '[{"suite": "ops", "family": "f", "name": "a", "threads": 1, "rounds": 1, "samples_us": [1e-320]}]' >instants.json
echo '[{"suite": "ops", "family": "f", "name": "a", "threads": 1, "rounds": 9, "median_us": 1e300}]' >median.json
mkdir dir.json
for file in empty binary other version types negative huge ages instants median dir missing; do
    echo "# $file"
    said tern baseline create $file --from $file.json --store good.db
    said tern regress --baseline main --from $file.json --store good.db
done
cmp good.db before
echo "# a full disk"
full()
{
    (ulimit -f 128; said "$@")
}
full tern baseline create big --from big.json --store good.db | sed -E 's/: [^:]*(full|I\/O|large).*$/: WHY/'
full tern baseline create main --from big.json --replace --store good.db | sed -E 's/: [^:]*(full|I\/O|large).*$/: WHY/'
tern baseline list --json --store good.db | json '[(b["name"], b["rows"]) for b in j]'
tern baseline export main --store good.db | json 'len(j["rows"])'
"$TERN_PYTHON" -c 'import sqlite3; print(sqlite3.connect("good.db").execute("PRAGMA integrity_check").fetchall())'
tern baseline create big --from big.json --store good.db
echo "# thresholds"
for threshold in 0 -5 nan inf ten 1e9 "" 10%; do
    said tern regress --baseline main --from base.json --threshold "$threshold" --store good.db
    said tern regress --baseline main --from base.json --critical "$threshold" --store good.db
done
