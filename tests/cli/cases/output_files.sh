# Where results go: a file is replaced as a whole, through a link too; what is no file is written to; what cannot be is said first.
needs_jansson
results base.json 1
echo old >there.txt
ln -s there.txt link.txt
ln -s absent.txt dangling.txt
mkdir folder
for to in new.txt link.txt dangling.txt; do
    tern report base.json --section machine -o $to
    head -n 1 $to
done
readlink link.txt dangling.txt
tern report base.json --section machine -o /dev/stdout --format text | head -n 1
tern report base.json --section machine -o /dev/stderr --format text 2>through.txt >/dev/null
head -n 1 through.txt
status tern report base.json -o folder
status tern report base.json -o nowhere/x.txt
status tern report base.json -o there.txt/x.txt
status tern report base.json -o /dev/full
ls
