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
status tern bench graph --layout strided
