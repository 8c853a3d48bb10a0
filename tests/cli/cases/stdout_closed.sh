tern list ops >&-
echo "exit status $?"
