for n in zero 0 -1 1025 4x "" 99999999999999999999; do
    status tern graph run x.tern --threads "$n"
done
