tern graph run "$GRAPHS/attention.tern" --threads 1 | head -n 1
