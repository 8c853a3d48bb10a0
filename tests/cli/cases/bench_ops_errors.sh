for words in '--family nothing' '--threads 1,x' '--threads 0' '--budget 0' '--memory 0' 'extra'; do
    tern bench ops $words
    echo "exit $?"
done
tern bench
echo "exit $?"
echo "# a choice of cases"
status tern bench ops --layout round
status tern bench ops --dtype f99
status tern bench ops --size huge
status tern bench ops --device tpu
status tern bench ops --cpu pentium --list 2>&1 | sed -E "s|there are [^(]*|there are ... |"
# A command that fails leaves the file of an earlier one, and none where there was none.
echo earlier >kept.json
status tern bench ops --family nothing --format json -o kept.json
status tern bench ops --family nothing --format json -o new.json
cat kept.json
ls
status tern bench graph --layout strided
