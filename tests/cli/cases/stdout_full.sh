[ -w /dev/full ] || skip "there is no /dev/full here"
tern list ops >/dev/full
echo "exit status $?"
tern graph run "$GRAPHS/batch.tern" --json >/dev/full
echo "exit status $?"
