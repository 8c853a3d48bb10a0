# The numbers grow with the library; they must be those of the lists.
tern list | sed -E 's/ +[0-9]+  /  N  /'
for kind in ops kernels passes dtypes devices metrics; do
    n=$(tern list | awk -v kind=$kind '$1 == kind { print $2 }')
    lines=$(tern list $kind | awk '/^$/ { getline; next } NR > 1' | wc -l) # without titles and headings
    objects=$(tern list $kind --json | json 'len(j)')
    [ "$n" -gt 0 ] && [ "$n" -eq "$lines" ] && [ "$n" -eq "$objects" ] || echo "$kind: $n, $lines lines, $objects objects"
done
tern list --json | json '[e["name"] for e in j]'
