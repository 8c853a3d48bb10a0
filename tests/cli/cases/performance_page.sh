# Every case that is measured stands on docs/performance.md, and nothing else does.
tern bench ops --list --json >cases.json
DOCS="$DOCS" "$TERN_PYTHON" -c 'import json, os, re
page, family = set(), None
for line in open(os.environ["DOCS"] + "/performance.md"):
    if line.startswith("## "):
        family = line[3:].strip()
    cells = [c.strip() for c in line.split("|")]
    if family and len(cells) > 5 and cells[1] not in ("case", "---"):
        page.add((family, cells[1]))
cases = {(r["family"], r["name"]) for r in json.load(open("cases.json"))}
for family, name in sorted(cases - page):
    print("make performance: the page lacks %s of %s" % (name, family))
for family, name in sorted(page - cases):
    print("make performance: %s of %s is measured no longer" % (name, family))
print(len(page) > 40)'
# The page is of everything: what chooses cases does not go with it.
for option in "--family sort" "--dtype f16" "--size 512" "--layout strided" "--device cpu" "--cpu avx2" --list; do
    status tern bench ops --markdown $option
done
