# Devices beside each other: what is asked for wrongly is said; advice of a report follows its data.
needs_jansson
status tern compare --devices cpu,abacus
status tern compare --devices cpu,,cpu
status tern compare --devices cpu,cpu
status tern compare --devices cpu a b
status tern compare --devices cpu --ops sort
status tern compare --devices cpu --ops add --model x.gguf
status tern compare --ops add
status tern compare --devices cpu --cpu avx2
status tern compare --devices cpu --level none
status tern compare --devices cpu --ops add --prompt x
echo "# a measurement has all of it"
tern compare --devices cpu --ops add --threads 1 --rounds 3 --budget 0.02 --json >cpu.json
json 'j["format"], [(r["device"], r["op"], r["shape"], r["median_us"] > 0) for r in j["rows"]], [r["device"] for r in j["recommendations"]], j["crossovers"]' <cpu.json
echo "# planted times, and the same with the devices the other way round"
row() { echo '{"device": "'"$1"'", "op": "add", "dtype": "f32", "shape": "['"$2"']", "size": '"$2"', "use": "'"$3"'", "median_us": '"$4"', "low_us": '"$4"', "high_us": '"$4"', "around_us": 1, "samples": 9}'; }
plant() { echo '{"format": "tern-devices", "version": 1, "rows": ['"$(row cpu 10 "small steps" "$1"), $(row gpu 10 "small steps" "$2"), $(row cpu 1000 "large arrays" "$3"), $(row gpu 1000 "large arrays" "$4")"']}'; }
plant 1 8 40 10 >planted.json
tern report planted.json --section devices
plant 8 1 10 40 >planted.json
tern report planted.json --section devices
tern report planted.json --section devices --format html | grep -c 'class="chart ratios"'
echo "# what is wrong with a document"
sed 's/"samples": 9/"samples": 9, "size": 0/; s/"size": 10,//' planted.json >bad.json
status tern report bad.json
sed 's/large arrays/juggling/' planted.json >bad.json
status tern report bad.json
