# Baselines are made, listed, shown, exported, imported and deleted; what goes wrong is a line, and the store stays as it was.
export TERN_BASELINES=$PWD/kept/baselines.db
needs_sqlite
needs_jansson
results base.json 1 1 1 1 1
tern baseline list
status tern baseline show main
status tern baseline create main --from nothing.json 2>&1 | sed "s|$PWD|DIR|"
ls kept 2>/dev/null
tern baseline create main --from base.json --description 'the "first" one'
status tern baseline create main --from base.json
# A session that is given twice would know of no noise, and confirm itself.
status tern baseline create other --from base.json --from base.json
results base2.json 1 1
tern baseline create other --from base.json --from base2.json
tern baseline create other --from base.json --replace
tern baseline list | sed -E 's/20[0-9-]+ [0-9:]+/DATE/'
tern baseline list --json | json '[(b["name"], b["rows"], b["sessions"], b["description"], b["host"]) for b in j]'
tern baseline show main | sed -E '/^(description|host)/p;1,/^$/d'
# As many sessions as there are; a benchmark that never ran, and one with a single session, have no noise floor.
"$TERN_PYTHON" - <<'END'
import json
row = {"suite": "ops", "family": "f", "name": "many", "shape": "f32[2]", "dtype": "f32", "device": "cpu", "threads": 1, "repeats": 1}
rows = [dict(row, run=run, samples_us=[1 if run < 1024 else 9] * 3) for run in range(1030)]
rows += [dict(row, name="once", run=0, samples_us=[5, 5, 5]), dict(row, name="never", run=0, samples_us=[], error="it did not fit")]
json.dump({"format": "tern-results", "version": 1, "conditions": {"host": "here", "cpu_model": "a CPU"}, "rows": rows}, open("odd.json", "w"))
END
tern baseline create odd --from odd.json
tern baseline show odd | sed '1,/^$/d'
tern baseline delete odd
# Short times are told in their unit.
sed -E 's/"samples_us": \[[^]]*\]/"samples_us": [0.0451, 0.0452, 0.0453]/g' base2.json >short.json
tern baseline create short --from short.json
tern baseline show short | sed '1,/^$/d'
tern baseline delete short
# What could not be kept is not measured: these sessions would take minutes.
for name in main ''; do
    status tern baseline create "$name" --runs 100
done
tern baseline export main -o main.json
json 'j["format"], len(j["rows"]), j["conditions"]["baseline"], len(j["rows"][0]["samples_us"])' <main.json
status tern baseline import main.json
tern baseline import main.json --name copy
tern baseline export copy | json '[r["samples_us"] for r in j["rows"]] == [r["samples_us"] for r in __import__("json").load(open("main.json"))["rows"]]'
status tern baseline import base.json
status tern baseline delete copy
status tern baseline delete copy
status tern baseline create ''  --from base.json
results elsewhere.json 1
sed 's/"here"/"there"/' elsewhere.json >there.json
status tern baseline create mixed --from base.json --from there.json
echo '[{"name": "a", "samples_us": [1, -1]}]' >bad.json
status tern baseline create bad --from bad.json
tern baseline list --json | json '[b["name"] for b in j]'
"$TERN_PYTHON" -c 'import sqlite3
print(sqlite3.connect("kept/baselines.db").execute("PRAGMA integrity_check").fetchone(),
      sqlite3.connect("kept/baselines.db").execute("PRAGMA journal_mode").fetchone())'
# Files that are not ours.
echo "this is no database, but a text that stands where one should be" >text.db
cp text.db before
status tern baseline list --store text.db
status tern baseline create x --from base.json --store text.db
status tern baseline create x --runs 100 --store text.db # not measured either
cmp text.db before
"$TERN_PYTHON" -c 'import sqlite3
c = sqlite3.connect("foreign.db"); c.execute("CREATE TABLE t(a)"); c.commit()
c = sqlite3.connect("newer.db"); c.execute("CREATE TABLE t(a)"); c.execute("PRAGMA application_id=0x54524e42"); c.execute("PRAGMA user_version=99"); c.commit()'
for name in foreign newer; do
    cp $name.db before
    status tern baseline create x --from base.json --store $name.db
    cmp $name.db before
    ls $name.db*
done
status tern baseline list --store .
echo "# of one session: the command that makes it of five has the options that it was made with"
tern baseline create "o'ne" --suite alloc --family heap --threads 1 --budget 0.001 --samples 3 -d "for now" --runs 1 2>&1 >/dev/null | grep -oE 'of five: .*'
tern regress --baseline "o'ne" --no-record 2>&1 >/dev/null | grep -oE 'of five: .*'
