# Pictures follow the terminal from 80 columns on.
for columns in 40 80 120; do
    COLUMNS=$columns tern graph run "$GRAPHS/bitlinear.tern" --show | awk '/^- / { print length($0) }' | sort -u
done
