# Every listed cell appears in the result, checked and with its figures; times are not judged.
for suite in graph alloc compile transfer; do
    tern bench $suite --list --json >list.json
    tern bench $suite --budget 0.001 --samples 3 --memory 1 --threads 1,2 --format json -o rows.json 2>errors
    case $? in 0 | 1) ;; *) cat errors ;; esac
    echo "$suite: $(json 'len(j), sorted({r["family"] for r in j})' <list.json)"
    json 'all((r["limit_share"] is None) == (r["error"] or "").startswith("unavailable: ") for r in j["rows"])' <rows.json
    json '{r["name"] for r in j["rows"]} == {r["name"] for r in __import__("json").load(open("list.json"))}, all(r["allocations"] is not None if r["rounds"] > 0 else r["error"] for r in j["rows"]), {r["suite"] for r in j["rows"]}' <rows.json
done
# Why there is no share stands in the same words in every form.
tern bench alloc --family heap --budget 0.001 --samples 3 --threads 1 --format csv -o rows.csv
"$TERN_PYTHON" -c 'import csv; print({(r["limit_share"], r["error"]) for r in csv.DictReader(open("rows.csv"))})'
tern bench alloc --family heap --budget 0.001 --samples 3 --threads 1 | grep -c 'unavailable: asking for memory moves no bytes and computes nothing$'
tern bench transfer --family layout --timeout 0.000000001 --memory 1 --threads 1 --json | json '{r["error"].split(" after ")[0] for r in j}'
status tern bench alloc --family nothing
status tern bench speed
