# Every listed cell appears in the result, checked and with its figures; times are not judged.
for suite in graph alloc compile transfer; do
    tern bench $suite --list --json >list.json
    tern bench $suite --budget 0.001 --samples 3 --memory 1 --threads 1,2 --format json -o rows.json 2>errors
    case $? in 0 | 1) ;; *) cat errors ;; esac
    echo "$suite: $(json 'len(j), sorted({r["family"] for r in j})' <list.json)"
    json '{r["name"] for r in j["rows"]} == {r["name"] for r in __import__("json").load(open("list.json"))}, all(r["error"] or (r["rounds"] > 0 and r["allocations"] is not None) for r in j["rows"]), {r["suite"] for r in j["rows"]}' <rows.json
done
tern bench transfer --family layout --timeout 0.000000001 --memory 1 --threads 1 --json | json '{r["error"].split(" after ")[0] for r in j}'
status tern bench alloc --family nothing
status tern bench speed
