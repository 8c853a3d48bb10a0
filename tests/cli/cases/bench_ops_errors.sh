for words in '--family nothing' '--threads 1,x' '--threads 0' '--budget 0' '--memory 0' 'extra'; do
    tern bench ops $words
    echo "exit $?"
done
tern bench
echo "exit $?"
